"""Base of all tables: names of constraints, moments in UTC, and checks of enumerations and lengths."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import ClassVar, Final

from sqlalchemy import CheckConstraint, DateTime, Dialect, MetaData, TypeDecorator
from sqlalchemy.orm import DeclarativeBase
from typing_extensions import override

__all__ = ["MAX_ID", "Moment", "TableBase", "has_id", "has_length", "is_one_of"]

MAX_ID: Final = 2**31 - 1
"""The upper limit of the id of a user, a project, a task or a comment (CX-11)."""


class Moment(TypeDecorator[datetime]):
    """A moment in UTC with microseconds; SQLite, which knows no time zones, keeps it without one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or dialect.name != "sqlite":
            return value
        return value.astimezone(UTC).replace(tzinfo=None)

    @override
    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


class TableBase(DeclarativeBase):
    """The base of all tables; it names their constraints, so that migrations can."""

    metadata: ClassVar[MetaData] = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[type, object]] = {datetime: Moment}

    def values(self) -> dict[str, object]:
        """Return the columns by the names of their attributes."""
        return {column.key: getattr(self, column.key) for column in self.__mapper__.column_attrs}


def is_one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    """Return the constraint that ``column`` has one of ``values``."""
    listed = ", ".join(f"'{value.value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def has_length(column: str, least: int, most: int) -> CheckConstraint:
    """Return the constraint that ``column`` has this many characters."""
    return CheckConstraint(f"length({column}) BETWEEN {least} AND {most}", name=column)


def has_id() -> CheckConstraint:
    """Return the constraint that the id is from 1 to 2**31 - 1."""
    return CheckConstraint(f"id BETWEEN 1 AND {MAX_ID}", name="id")

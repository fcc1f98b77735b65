"""What is said of arguments that are refused."""

from typing import Final

import pytest
from pydantic import BaseModel, ValidationError

__all__ = ["CONTROL", "SURROGATE", "refusal"]

SURROGATE: Final = "Leave out the lone surrogate: it is half a character."
CONTROL: Final = "Write it on one line, without line breaks, tabs or other control characters."


def refusal(model: type[BaseModel], arguments: object) -> tuple[tuple[str | int, ...], str]:
    """Return the place and the message of the only thing wrong with ``arguments``."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(arguments)
    [error] = caught.value.errors()
    return error["loc"], error["msg"]

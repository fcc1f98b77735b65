"""``ctx config``: the settings of ``ctx`` (CX-55); no login is among them (CX-64)."""

from argparse import Namespace

from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import CommandGroup, Parser
from cortex_cli.config import check_key, parse_setting
from cortex_cli.models import Settings
from cortex_cli.output import Outcome, Table

__all__ = ["add_to"]


def add_to(parser: Parser) -> None:
    """Add the commands of the group."""
    commands = CommandGroup(parser)
    commands.add_action("list", "list the settings that are in effect", _list)
    get = commands.add_action("get", "show a setting", _get)
    get.add_argument("key", metavar="KEY")
    change = commands.add_action("set", "change a setting", _set)
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE")
    unset = commands.add_action("unset", "put a setting back to its default", _unset)
    unset.add_argument("key", metavar="KEY")
    commands.add_action("keys", "list what can be set, with the defaults", _keys)


def _shown(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _table(settings: Settings) -> Table:
    return Table(("Key", "Value"), [(key, _shown(value)) for key, value in settings._asdict().items()])


def _list(context: Context, _options: Namespace) -> Outcome:
    settings = context.settings()
    return Outcome({"success": True, "settings": settings._asdict()}, table=_table(settings))


def _get(context: Context, options: Namespace) -> Outcome:
    check_key(options.key)
    value = context.settings()._asdict()[options.key]
    return Outcome({"success": True, "key": options.key, "value": value}, _shown(value))


def _set(context: Context, options: Namespace) -> Outcome:
    value = parse_setting(options.key, options.value)
    context.config.change(options.key, value)
    return Outcome({"success": True, "key": options.key, "value": value}, f"{options.key} is {_shown(value)} now.")


def _unset(context: Context, options: Namespace) -> Outcome:
    check_key(options.key)
    context.config.change(options.key, None)
    return Outcome({"success": True, "key": options.key}, f"{options.key} has its default again.")


def _keys(_context: Context, _options: Namespace) -> Outcome:
    defaults = Settings()
    return Outcome({"success": True, "keys": defaults._asdict()}, table=_table(defaults))

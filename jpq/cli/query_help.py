"""Help for a command with more options than a screen has lines: the common ones, or all."""

from __future__ import annotations

import argparse
import sys
from typing import Any


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """One line an option: its value is named once."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = ", ".join(action.option_strings)
        return f"{names} {action.metavar}" if action.metavar else names


class ShortHelp(argparse.Action):
    """Prints usage, the options named in ``common``, and the epilog; then the run is over."""

    def __init__(self, option_strings: Any, dest: str, common: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)
        self._common = common.split()

    def __call__(self, parser: argparse.ArgumentParser, *unused: Any) -> None:
        formatter = HelpFormatter(parser.prog)
        formatter.add_usage(parser.usage, (), ())
        formatter.add_text(parser.description)
        formatter.start_section("common options")
        named = {name: action for action in parser._actions for name in action.option_strings}
        formatter.add_arguments([named[name] for name in self._common])
        formatter.end_section()
        formatter.add_text(parser.epilog)
        parser._print_message(formatter.format_help(), sys.stdout)
        parser.exit()


def add_help(group: Any, common: str) -> None:
    """``--help`` with the options that ``common`` names, and ``--help-all`` with all."""
    group.add_argument(
        "-h", "--help", action=ShortHelp, common=common, help="show the common options and exit"
    )
    group.add_argument("--help-all", action="help", help="show every option and exit")

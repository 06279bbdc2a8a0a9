"""The parser of the command line: errors in one line, with the nearest known word; and types of arguments."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from toplist.cli.exit_codes import Exit, print_message

TRACEBACK = "--traceback"


class Parser(argparse.ArgumentParser):
    """A parser without abbreviated flags, which would change their meaning in scripts when a flag is added."""

    flag_advice = ""  # for an unknown flag that resembles no known one

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, and exit."""
        print_message(f"{message}; see {self.prog} --help.")
        self.exit(Exit.INPUT)

    def arguments(self) -> list[argparse.Action]:
        """All flags and arguments, without the commands."""
        return [action for action in self._actions if not isinstance(action, argparse._SubParsersAction)]

    def flags(self) -> list[str]:
        """All flags."""
        return [flag for action in self.arguments() for flag in action.option_strings]

    def commands(self) -> dict[str, Parser]:
        """The parsers of the commands by name."""
        found: dict[str, Parser] = {}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found |= action.choices
        return found

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse a whole command line."""
        commands = self.commands()
        command = next((word for word in words if not word.startswith("-")), None)
        before = words if command is None else words[: words.index(command)]
        self._refuse(before, self.flags())
        self.parse_args(before)  # --help and --version end here
        if command is None:
            self.error(f"Give a command: {', '.join(commands)}")
        if command not in commands:
            self.error(
                f"There is no command {command!r}, but there are {', '.join(commands)}{_perhaps(command, commands)}"
            )
        arguments, unknown = self.parse_known_args(words)
        chosen = commands[command]
        chosen._refuse(unknown, chosen.flags())
        return arguments

    def _refuse(self, words: Sequence[str], flags: Iterable[str]) -> None:
        """Report the first word that is not one of these flags."""
        for word in words:
            name = word.partition("=")[0]
            if name in flags:
                continue
            if name.startswith("-"):
                self.error(self._unknown_flag(name))
            if all(action.option_strings for action in self.arguments()):
                self.error(f"{word!r} was given, but {self.prog} takes no names; leave it out")
            self.error(f"{word!r} is unexpected here; put all names together, before or after all flags")

    def _unknown_flag(self, given: str) -> str:
        """The error of an unknown flag: the nearest known one, or all of them with advice."""
        known = {flag.lstrip("-"): flag for flag in self.flags() if flag.startswith("--")}
        close = difflib.get_close_matches(given.lstrip("-").lower(), known, n=1)
        if close:
            return f"There is no flag {given}; perhaps you mean {known[close[0]]!r}"
        advice = f"; {self.flag_advice}" if self.flag_advice else ""
        return f"There is no flag {given}, but there are {', '.join(known.values())}{advice}"


def _perhaps(given: str, known: Iterable[str]) -> str:
    from toplist.core.problem import nearest

    advice = nearest(given, known, "")
    return f"; {advice}" if advice else ""


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, more: str = ""
) -> Parser:
    """Add the parser of a command."""
    parser: Parser = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=more
    )
    parser.set_defaults(run=run)
    add_traceback(parser)
    return parser


def add_traceback(parser: argparse.ArgumentParser) -> None:
    """Add the flag --traceback, which is accepted before and after the name of the command."""
    parser.add_argument(
        TRACEBACK, action="store_true", default=argparse.SUPPRESS,
        help="print the traceback of an error, for a bug report",
    )  # fmt: skip


def whole_number(text: str) -> int:
    """A whole number as text, also written as 1e5 or 100_000.

    >>> whole_number("1e5"), whole_number("20")
    (100000, 20)
    """
    try:
        value = int(text)
    except ValueError:
        try:
            value = int(float(text))
        except (ValueError, OverflowError):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value != float(text):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if abs(value) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text} is too large; give a number below 2**63")
    return value


def checkpoint_steps(text: str) -> int | list[int]:
    """The number of checkpoints, or the steps themselves, separated by commas.

    >>> checkpoint_steps("100"), checkpoint_steps("10,100,1000")
    (100, [10, 100, 1000])
    """
    steps = [whole_number(step) for step in text.split(",")]
    return steps if "," in text else steps[0]

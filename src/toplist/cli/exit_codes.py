"""How a command ends: exit codes that scripts can use, and errors in one line."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

REPORT = "this should not happen; run it again with --traceback, and report what that prints"


class Exit(IntEnum):
    """Exit codes. Their meanings are what `toplist --help` prints."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Exit:
        """A code and what it means."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    FINE = 0, "all is well"
    BROKEN = 1, "a check failed: a policy breaks a promise"
    INPUT = 2, "wrong input: the message says what is accepted"
    SYSTEM = 3, "something is missing, or the system refused: an extra, a right, space on the disk"
    BUG = 4, "an error that nobody foresaw, in toplist or in a policy of yours"
    INTERRUPTED = 130, "interrupted by Ctrl-C"
    UNREAD = 141, "nobody reads the output any more, as after | head"

    @classmethod
    def table(cls) -> str:
        """All codes with their meanings."""
        return "\n".join(["exit codes:", *(f"  {code.value:>3}  {code.meaning}" for code in cls)])


def replace_closed_streams() -> None:
    """Whoever closed stdout or stderr wants to hear nothing; Python would have None in their place."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def print_message(message: str) -> None:
    """One line on stderr, where somebody may or may not read it."""
    with suppress(OSError, ValueError):
        print(f"toplist: {' '.join(message.split())}", file=sys.stderr, flush=True)


def report_error(error: BaseException, arguments: Namespace) -> Exit:
    """Say in one line what went wrong; the exit code for it."""
    if isinstance(error, KeyboardInterrupt):
        print_message(_interrupted(arguments))
        return Exit.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _drop_output()
        return Exit.UNREAD
    code, message = exit_code_and_message(error)
    print_message(message)
    if isinstance(error, OSError):
        _drop_output()
    return code


def exit_code_and_message(error: BaseException) -> tuple[Exit, str]:
    """The exit code of an error, and the line that says what went wrong."""
    from toplist.core.problem import InvalidInput
    from toplist.service.errors import StoreUnavailable
    from toplist.support.files import Unwritable

    if isinstance(error, InvalidInput):
        return (Exit.SYSTEM if isinstance(error, Unwritable) else Exit.INPUT), str(error)
    if isinstance(error, OSError):
        about = f": {error.filename}" if error.filename else ""
        return Exit.SYSTEM, f"{error.strerror or error}{about}"
    if isinstance(error, StoreUnavailable):
        return Exit.SYSTEM, str(error)
    if isinstance(error, ImportError | MemoryError):
        return Exit.SYSTEM, str(error) or "the memory does not suffice; ask for less"
    from toplist.core.compiling import COMPILE_ERRORS, DoesNotCompile, explained

    if isinstance(error, DoesNotCompile):
        return Exit.INPUT, str(error)
    if isinstance(error, COMPILE_ERRORS):
        return Exit.INPUT, explained(error)
    first = next((line for line in str(error).splitlines() if line.strip()), "without a word")
    return Exit.BUG, f"{type(error).__name__}: {first.strip().rstrip('.')}; {REPORT}."


def _interrupted(arguments: Namespace) -> str:
    """What was kept, where something can be kept."""
    named = getattr(arguments, "resume", None) or getattr(arguments, "results", None)
    if named is None:
        able = hasattr(arguments, "resume")
        return f"interrupted{', and nothing was kept; with --resume the same command could go on' if able else ''}."
    kept = Path(named)
    if any(kept.iterdir()) if kept.is_dir() else kept.exists():
        return f"interrupted; what was played is kept in {named}, and the same command goes on from there."
    return f"interrupted before there was anything to keep in {named}."


def _drop_output() -> None:
    """Let go of what was not written, or Python would try again at exit, and complain once more."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Exit codes, and the one-line message with which an error ends a command."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

REPORT = "this should not happen; run it again with --traceback, and report what that prints"
KEEPING = {"resume": "--resume", "results": "--out"}  # where a command keeps its work, and by which flag


class Exit(IntEnum):
    """The exit codes, with the meanings that `toplist --help` prints."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Exit:
        """A code and its meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    FINE = 0, "success"
    BROKEN = 1, "a check failed: a part breaks a promise, or a store differs from its log"
    INPUT = 2, "wrong input: the message says what is accepted"
    SYSTEM = 3, "something is missing, or the system refused: an extra, a permission, disk space"
    BUG = 4, "an unexpected error, in toplist or in your own code"
    INTERRUPTED = 130, "interrupted by Ctrl-C"
    UNREAD = 141, "the output is not read any more, as after | head"

    @classmethod
    def table(cls) -> str:
        """All codes with their meanings."""
        return "\n".join(["exit codes:", *(f"  {code.value:>3}  {code.meaning}" for code in cls)])


def replace_closed_streams() -> None:
    """Discard output to a closed stdout or stderr, which Python sets to None."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def print_message(message: str) -> None:
    """Print one line on stderr; errors of writing are ignored."""
    with suppress(OSError, ValueError):
        print(f"toplist: {' '.join(message.split())}", file=sys.stderr, flush=True)


def report_error(error: BaseException, arguments: Namespace) -> Exit:
    """Print an error in one line; return its exit code."""
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
    """The exit code of an error, and its message in one line."""
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
        return Exit.SYSTEM, str(error) or "out of memory; ask for less"
    from toplist.core.compiling import COMPILE_ERRORS, DoesNotCompile, explain_compile_error

    if isinstance(error, DoesNotCompile):
        return Exit.INPUT, str(error)
    if isinstance(error, COMPILE_ERRORS):
        return Exit.INPUT, explain_compile_error(error)
    first = next((line for line in str(error).splitlines() if line.strip()), "no message")
    return Exit.BUG, f"{type(error).__name__}: {first.strip().rstrip('.')}; {REPORT}."


def _interrupted(arguments: Namespace) -> str:
    """The message after Ctrl-C: whether results are kept, and where."""
    named = getattr(arguments, "resume", None) or getattr(arguments, "results", None)
    if named is None:
        flag = next((flag for name, flag in KEEPING.items() if hasattr(arguments, name)), None)
        advice = f", and nothing was kept; with {flag} the same command could go on" if flag else ""
        return f"interrupted{advice}."
    kept = Path(named)
    if any(kept.iterdir()) if kept.is_dir() else kept.exists():
        return f"interrupted; the work so far is kept in {named}, and the same command goes on from there."
    return f"interrupted before there was anything to keep in {named}."


def _drop_output() -> None:
    """Discard buffered output; else Python writes it again at exit, and prints a second error."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

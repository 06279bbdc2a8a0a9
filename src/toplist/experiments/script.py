"""How the command of an experiment ends: what cannot be used, and Ctrl-C, in a line instead of a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable

from toplist.core.problem import InvalidInput

WRONG_INPUT, INTERRUPTED = 2, 130  # as for the command `toplist`


def run(command: Callable[[], int]) -> int:
    """Run a command; its exit code.

    >>> run(lambda: 0)
    0
    """
    try:
        return command()
    except InvalidInput as problem:
        print(problem, file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED

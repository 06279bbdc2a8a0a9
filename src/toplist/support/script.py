"""Runs the main function of a `python -m` script: wrong input and Ctrl-C end in one line on stderr, not a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable

from toplist.core.problem import InvalidInput

WRONG_INPUT, INTERRUPTED = 2, 130  # the exit codes of the command `toplist`


def run_script(main: Callable[[], int]) -> int:
    """Run `main` and return the exit code of the script.

    >>> run_script(lambda: 0)
    0
    """
    try:
        return main()
    except InvalidInput as problem:
        print(problem, file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED

"""Fit thousands of simulated logs, and print whether the truth was found: `python -m tests.logs.recovery --help`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from toplist.logs import FittedModel, fit_model, patterns
from toplist.support.tables import aligned_lines

from .comparison import HELD_OUT, LISTS, TRUE, compare_all
from .intervals import EXAMINATIONS, FIT_LISTS, HIGH, LOW, SHRUNK_LISTS, coverage, fit_with_diagonal_errors


def main(arguments: Sequence[str] | None = None) -> int:
    """Coverage and comparisons; 1 if one is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.logs.recovery", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to simulate; by default all")
    parser.add_argument("--fits", type=int, default=1000, metavar="N", help="fits per model (default: 1000)")
    parser.add_argument("--diagonal", action="store_true", help="wrong errors, to see that they are found out")
    options = parser.parse_args(arguments)
    unknown = set(options.models) - set(TRUE)
    if unknown:
        parser.error(f"there is no model {', '.join(sorted(unknown))}; there are {', '.join(TRUE)}")
    patterns.SHORT = 0  # of thousands of fits, even short ones are worth compiling
    chosen = options.models or TRUE
    if options.diagonal:
        return int(_coverage(chosen, options.fits, False, fit_with_diagonal_errors) > 0)
    return int(sum([_coverage(chosen, options.fits, False), _coverage(chosen, options.fits, True), _pairs(chosen)]) > 0)


def _coverage(models: Sequence[str], fits: int, shrunk: bool, fit: Callable[..., FittedModel] = fit_model) -> int:
    """Print a table; returns how many lines are outside the limits."""
    if shrunk:
        print(f"\nParameters drawn from their prior, and that prior in the fit; {SHRUNK_LISTS} lists per fit.")
    else:
        print(f"No prior; {FIT_LISTS} lists per fit, parameters with {EXAMINATIONS} expected examinations or more.")
    print(f"Coverage of 95% intervals over {fits} fits per model; it must be between {LOW:.0%} and {HIGH:.0%}.")
    rows, outside = [("model", "parameters", "intervals", "coverage", "", "seconds", "left out")], 0
    for name in models:
        begun = time.monotonic()
        found = coverage(name, fits, shrunk, fit)
        seconds = time.monotonic() - begun
        for each in found:
            word = "" if LOW <= each.share <= HIGH else "OUTSIDE"
            outside += word != ""
            reasons = ", ".join(f"{count} {reason}" for reason, count in each.left_out.items())
            share = f"{100 * each.share:.2f}%"
            rows.append((name, each.kind, f"{each.intervals:,}", share, word, f"{seconds:.0f}", reasons))
    print("\n".join(aligned_lines(list(zip(*rows, strict=True)), left=(0, 1, 6))), flush=True)
    return outside


def _pairs(models: Sequence[str]) -> int:
    """Print a table; returns how many verdicts are wrong."""
    print(f"\nFits to {LISTS:,} lists: log-likelihood per list on {HELD_OUT:,} held-out ones minus the true model's.")
    print("No model may be significantly better, and one that cannot equal the true one must be significantly worse.")
    wrong = 0
    rows: list[tuple[str, ...]] = [("true", "other", "difference", "from", "to", "", "")]
    for name in models:
        for each in compare_all(name, seed=1):
            wrong += not each.is_right
            numbers = (f"{number:.6f}" for number in each.difference)
            can = "can equal it" if each.contains else ""
            rows.append((name, each.wrong, *numbers, can, "" if each.is_right else "WRONG"))
    print("\n".join(aligned_lines(list(zip(*rows, strict=True)), left=(0, 1, 5))), flush=True)
    return wrong


if __name__ == "__main__":
    raise SystemExit(main())

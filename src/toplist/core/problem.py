"""The size of a problem, and the one form in which toplist refuses what it cannot use."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats


class InvalidInput(ValueError):
    """Something that was given cannot be used; the message says what, what is accepted and what to do."""


class Problem(NamedTuple):
    """How large a problem is: everything a part needs to know to get ready."""

    items: int  # L
    positions: int  # K
    features: int = 0  # d
    steps: int | None = None  # n, where it is known beforehand


def known_steps(what: str, problem: Problem, advice: str) -> int:
    """The number of steps, for what is "theory" and so made for it; the error where nobody knows it."""
    if problem.steps is None:
        raise InvalidInput(
            f"{what} is 'theory', but the number of steps is unknown; {advice}, or say how many steps there are."
        )
    return problem.steps


def refuse(what: str, given: object, accepted: str, advice: str) -> InvalidInput:
    """The error for a value that cannot be used."""
    shown = repr(given)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return InvalidInput(f"{what} is {shown}, but must be {accepted}; {advice}.")


def nearest(given: object, known: Iterable[str], otherwise: str) -> str:
    """Advice for a name that is not known: the nearest that is, or `otherwise`."""
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(given).lower(), names, n=1, cutoff=0.5)
    return f"perhaps you mean {names[close[0]]!r}" if close else otherwise


def whole(what: str, given: Any, least: int, advice: str) -> int:
    """`given` as an integer of at least `least`, or the error that says why not."""
    try:
        number = operator.index(given)
    except TypeError:
        number = least - 1
    if number < least or isinstance(given, bool):
        raise refuse(what, given, f"a whole number of at least {least}", advice)
    return number


def checked_seed(given: Any) -> int:
    """`given` as a seed, from which all random numbers are derived."""
    seed = whole("The seed", given, 0, "give any whole number")
    if seed >= 2**63:
        raise refuse("The seed", seed, "below 2**63", "give a smaller number")
    return seed


def number(what: str, given: Any, least: float, most: float, advice: str) -> float:
    """`given` as a float between `least` and `most`, or the error that says why not."""
    accepted = f"a number between {least:g} and {most:g}"
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise refuse(what, given, accepted, advice) from None
    if not least <= value <= most:
        raise refuse(what, given, accepted, advice)
    return value


def prior(of: str, mean: Any, strength: Any) -> tuple[float, float]:
    """What is assumed of an item before it is seen, as if it had been examined `strength` times with this mean."""
    return (
        number(f"{of}prior_mean", mean, 0.0, 1.0, "give the expected share of clicks"),
        number(f"{of}prior_strength", strength, 0.0, 1e9, "0 stands for no prior"),
    )


def several(what: str, given: Any, of: str) -> list[Any]:
    """`given` as a list; a text alone is not one of its letters."""
    if type(given) in (list, tuple):  # as it mostly is, and faster told
        return list(given)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        advice = "write [] for none" if given is None else f"write [{given!r}] for one, [] for none"
        raise refuse(what, given, f"a sequence of {of}", advice)
    return list(given)


def probabilities(what: str, given: Any, count: int | None, per: str) -> Floats:
    """`given`, one probability or one for each of `count`, as an array of its own."""
    advice = f"give one probability, or one per {per}" if count is not None else f"give one per {per}"
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(what, given, "numbers between 0 and 1", advice) from None
    if array.ndim == 0 and count is not None:
        array = np.full(count, float(array))
    if array.ndim != 1 or (count is not None and len(array) != count):
        expected = "a flat sequence of probabilities" if count is None else f"{count} probabilities"
        raise refuse(what, given, expected, advice)
    wrong = ~((array >= 0) & (array <= 1))  # also true for NaN
    if wrong.any():
        first = int(np.argmax(wrong))
        raise refuse(f"{what}[{first}]", float(array[first]), "a probability in [0, 1]", "correct that entry")
    return array


def places(what: str, given: Any, positions: int) -> list[int]:
    """An order of all positions, counted from 1, as a list counted from 0."""
    accepted, advice = f"each of the positions 1 to {positions} once", "list the most valuable position first"
    try:
        order = [operator.index(position) for position in given]
    except TypeError:
        raise refuse(what, given, accepted, advice) from None
    if sorted(order) != list(range(1, positions + 1)):
        raise refuse(what, list(given), accepted, advice)
    return [position - 1 for position in order]


def expect(what: str, given: Any, methods: Sequence[str], accepted: str) -> None:
    """Refuse what is not the kind of part that is wanted, before anything is asked of it."""
    if isinstance(given, type):
        raise refuse(what, given.__name__, accepted, f"write {given.__name__}() with its brackets")
    missing = [method for method in methods if not hasattr(given, method)]
    if missing:
        raise refuse(what, given, accepted, f"what was given has no {missing[0]}()")

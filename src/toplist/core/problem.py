"""The size of a problem, and the checks of arguments with the common form of their errors."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats

_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), set: ("{", "}")}


class InvalidInput(ValueError):
    """An argument cannot be used; the message says what was given, what is accepted and what to do."""


class Problem(NamedTuple):
    """The size of a problem, from which a part is prepared.

    Parameters
    ----------
    items : int
        Number of items, L.
    positions : int
        Number of positions of a list, K.
    features : int, default 0
        Number of features of an item, d.
    steps : int or None, default None
        Horizon n: the number of lists of a run; None if unknown.
    grows : bool, default True
        Whether there may be more items later, so that scratch space must have the same type for any number of them.
    """

    items: int
    positions: int
    features: int = 0
    steps: int | None = None
    grows: bool = True


def known_steps(what: str, problem: Problem, advice: str) -> int:
    """The horizon, for a parameter that is set to "theory".

    Parameters
    ----------
    what : str
        Name of the parameter, for the error.
    problem : Problem
        The problem.
    advice : str
        What to do instead, for the error.

    Returns
    -------
    int
        The number of steps.

    Raises
    ------
    InvalidInput
        If the number of steps is unknown.
    """
    if problem.steps is None:
        raise InvalidInput(
            f"{what} is 'theory', but the number of steps is unknown; {advice}, or give the number of steps."
        )
    return problem.steps


def refuse(what: str, given: object, accepted: str, advice: str) -> InvalidInput:
    """Make the error for a value that cannot be used.

    Parameters
    ----------
    what : str
        Name of the argument.
    given : object
        Its value; a long one is shortened.
    accepted : str
        The accepted values.
    advice : str
        What to do.

    Returns
    -------
    InvalidInput
        The error, to be raised by the caller.

    Examples
    --------
    >>> print(refuse("The seed", -1, "a whole number of at least 0", "give any whole number"))
    The seed is -1, but must be a whole number of at least 0; give any whole number.
    """
    return InvalidInput(f"{what} is {short_repr(given)}, but must be {accepted}; {advice}.")


def short_repr(given: object, most: int = 80) -> str:
    """The beginning of what `repr` returns, without making the rest of it: requests may have a million entries.

    Parameters
    ----------
    given : object
        Any value.
    most : int, default 80
        Largest number of characters.

    Returns
    -------
    str
        The text; one that is too long ends with three dots.

    Examples
    --------
    >>> short_repr(range(3)), short_repr(["tea", 7]), short_repr([7] * 1_000_000, most=20)
    ('range(0, 3)', "['tea', 7]", '[7, 7, 7, 7, 7, 7...')
    """
    shown = ""
    for piece in _repr_pieces(given, most):
        shown += piece
        if len(shown) > most:
            return shown[: most - 3] + "..."
    return shown


def _repr_pieces(given: Any, most: int) -> Iterator[str]:
    """What `repr` returns, piece by piece; a long text is cut to what can be shown."""
    kind = type(given)
    if kind in _BRACKETS and given:
        begin, end = _BRACKETS[kind]
        yield begin
        for n, entry in enumerate(given):
            if n:
                yield ", "
            yield from _repr_pieces(entry, most)
            if kind is dict:
                yield ": "
                yield from _repr_pieces(given[entry], most)
        yield ",)" if kind is tuple and len(given) == 1 else end
    else:
        yield repr(given[: most + 1] if kind in (str, bytes) else given)


def nearest(given: object, known: Iterable[str], otherwise: str) -> str:
    """Advice for an unknown name: the most similar known name, or `otherwise`.

    Parameters
    ----------
    given : object
        The unknown name.
    known : iterable of str
        The known names.
    otherwise : str
        Advice if no known name is similar.

    Returns
    -------
    str
        The advice.

    Examples
    --------
    >>> nearest("dcm-kl-ucp", ["dcm-kl-ucb", "random"], "see toplist policies")
    "perhaps you mean 'dcm-kl-ucb'"
    """
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(given).lower(), names, n=1, cutoff=0.5)
    return f"perhaps you mean {names[close[0]]!r}" if close else otherwise


def whole(what: str, given: Any, least: int, advice: str) -> int:
    """Check a whole number.

    Parameters
    ----------
    what : str
        Name of the argument, for the error.
    given : object
        Its value; a boolean is refused.
    least : int
        Smallest accepted number.
    advice : str
        What to do, for the error.

    Returns
    -------
    int
        The number.

    Raises
    ------
    InvalidInput
        If `given` is not a whole number of at least `least`.
    """
    try:
        number = operator.index(given)
    except TypeError:
        number = least - 1
    if number < least or isinstance(given, bool):
        raise refuse(what, given, f"a whole number of at least {least}", advice)
    return number


def checked_seed(given: Any) -> int:
    """Check a seed, from which all random numbers are derived.

    Parameters
    ----------
    given : object
        The seed.

    Returns
    -------
    int
        The seed.

    Raises
    ------
    InvalidInput
        If `given` is not a whole number from 0 to `2**63 - 1`.
    """
    seed = whole("The seed", given, 0, "give any whole number")
    if seed >= 2**63:
        raise refuse("The seed", seed, "below 2**63", "give a smaller number")
    return seed


def number(what: str, given: Any, least: float, most: float, advice: str) -> float:
    """Check a number.

    Parameters
    ----------
    what : str
        Name of the argument, for the error.
    given : object
        Its value.
    least, most : float
        Smallest and largest accepted number.
    advice : str
        What to do, for the error.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InvalidInput
        If `given` is not a number from `least` to `most`.
    """
    accepted = f"a number between {least:g} and {most:g}"
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        raise refuse(what, given, accepted, advice) from None
    if not least <= value <= most:
        raise refuse(what, given, accepted, advice)
    return value


def true_or_false(what: str, given: Any, advice: str) -> bool:
    """Check a boolean: texts as "false" and numbers are refused, since they would count as true unless empty.

    Examples
    --------
    >>> true_or_false("The switch", "false", "write it without quotes")
    Traceback (most recent call last):
    toplist.core.problem.InvalidInput: The switch is 'false', but must be True or False; write it without quotes.
    """
    if not isinstance(given, bool | np.bool_):
        raise refuse(what, given, "True or False", advice)
    return bool(given)


def prior(of: str, mean: Any, strength: Any) -> tuple[float, float]:
    """Check a prior: each item counts as examined `strength` times with mean `mean` before it is seen.

    Parameters
    ----------
    of : str
        Owner of the prior, for the error; it precedes the name of the parameter.
    mean : object
        Mean of the prior, in [0, 1].
    strength : object
        Number of examinations that the prior stands for; 0 for no prior.

    Returns
    -------
    tuple of float
        Mean and strength.

    Raises
    ------
    InvalidInput
        If one of them is not an accepted number.
    """
    return (
        number(f"{of}prior_mean", mean, 0.0, 1.0, "give the expected share of clicks"),
        number(f"{of}prior_strength", strength, 0.0, 1e9, "0 stands for no prior"),
    )


def several(what: str, given: Any, of: str) -> list[Any]:
    """Check a sequence; a single text is refused, and not taken as its letters, nor a table as its column names.

    Parameters
    ----------
    what : str
        Name of the argument, for the error.
    given : object
        Its value.
    of : str
        Name of the elements, for the error.

    Returns
    -------
    list
        The elements.

    Raises
    ------
    InvalidInput
        If `given` is a text, a table or not iterable.
    """
    if type(given) in (list, tuple):  # the usual case, and cheap to check
        return list(given)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        advice = "write [] for none" if given is None else f"write [{given!r}] for one, [] for none"
        raise refuse(what, given, f"a sequence of {of}", advice)
    if hasattr(type(given), "columns"):
        table: Any = given
        column = next((name for name in table.columns if isinstance(name, str)), "id")
        raise InvalidInput(
            f"{what} is a {type(given).__name__}, but must be a sequence of {of}; give one of its columns, like "
            f"list(frame[{column!r}])."
        )
    return list(given)


def float_array(given: Any, dimensions: int = 0) -> Floats:
    """Copy numbers to a new array; the check of its shape, which the caller makes, also refuses what is not numbers.

    Parameters
    ----------
    given : object
        The numbers.
    dimensions : int, default 0
        Least number of dimensions of the array.

    Returns
    -------
    ndarray of float
        The numbers; a flat array without elements if `given` is not numbers.

    Examples
    --------
    >>> float_array([1, 2], dimensions=2).tolist(), float_array("tea").tolist()
    ([[1.0, 2.0]], [])
    """
    try:
        return np.array(given, dtype=np.float64, ndmin=dimensions)
    except (TypeError, ValueError):
        return np.empty(0)


def probabilities(what: str, given: Any, count: int | None, per: str) -> Floats:
    """Check probabilities, and copy them to a new array.

    Parameters
    ----------
    what : str
        Name of the argument, for the error.
    given : array_like of float
        The probabilities; a single one is repeated `count` times.
    count : int or None
        Number of probabilities; None for any number.
    per : str
        What each probability belongs to, for the error.

    Returns
    -------
    ndarray of float
        The probabilities.

    Raises
    ------
    InvalidInput
        If a value is not a probability, or their number is wrong.
    """
    advice = f"give one probability, or one per {per}" if count is not None else f"give one per {per}"
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
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
    """Check an order of all positions.

    Parameters
    ----------
    what : str
        Name of the argument, for the error.
    given : iterable of int
        The positions, counted from 1.
    positions : int
        Number of positions.

    Returns
    -------
    list of int
        The positions, counted from 0.

    Raises
    ------
    InvalidInput
        If not every position occurs exactly once.

    Examples
    --------
    >>> places("The order", [2, 1, 3], 3)
    [1, 0, 2]
    """
    accepted, advice = f"each of the positions 1 to {positions} once", "list the most valuable position first"
    try:
        order = [operator.index(position) for position in given]
    except TypeError:
        raise refuse(what, given, accepted, advice) from None
    if sorted(order) != list(range(1, positions + 1)):
        raise refuse(what, list(given), accepted, advice)
    return [position - 1 for position in order]


def expect(what: str, given: Any, methods: Sequence[str], accepted: str) -> None:
    """Check that a value is a part of the required kind, before any of its methods is called.

    Parameters
    ----------
    what : str
        Name of the argument, for the error.
    given : object
        The part.
    methods : sequence of str
        Methods that it must have.
    accepted : str
        The accepted parts, for the error.

    Raises
    ------
    InvalidInput
        If `given` is a class, or a method is missing.
    """
    if isinstance(given, type):
        raise refuse(what, given.__name__, accepted, f"write {given.__name__}() with its brackets")
    missing = [method for method in methods if not hasattr(given, method)]
    if missing:
        raise refuse(what, given, accepted, f"it has no {missing[0]}()")

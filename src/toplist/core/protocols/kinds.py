"""The kinds of parts, and the methods by which a part is recognised as one of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from toplist.core.problem import expect


class PartKind(NamedTuple):
    """A kind of part.

    Parameters
    ----------
    title : str
        What messages call it.
    methods : tuple of str
        Methods that every part of this kind has.
    accepted : str
        The accepted parts, for errors.
    """

    title: str
    methods: tuple[str, ...]
    accepted: str


KINDS = {
    "policy": PartKind(
        "a policy", ("prepare", "begin", "rank", "learn"), "a name of the catalogue or made of parts"
    ),
    "world": PartKind(
        "a world", ("checked", "problem", "begin", "advance", "attract"), "a world, like Fixed(), or its name"
    ),
    "users": PartKind(
        "a click model", ("prepare", "click", "reward", "best"), "a click model, like Cascade() or DCM(), or its name"
    ),
    "start": PartKind(
        "a start", ("prepare", "sampled", "pin"), "OneSample(), Forced() or NeverSeenFirst(), or its name"
    ),
    "reading": PartKind("a reading", ("prepare", "read"), "a reading, like ThroughFirstClick()"),
    "memory": PartKind(
        "a memory", ("prepare", "begin", "keeps", "tick", "add", "conclude"), "a memory, like Everything()"
    ),
    "index": PartKind("an index", ("prepare", "scratch", "reads", "top"), "an index, like KLUCB()"),
    "arrangement": PartKind(
        "an arrangement", ("prepare", "scratch", "asks", "arrange"), "an arrangement, like TopK()"
    ),
    "detector": PartKind("a detector of changes", ("prepare", "room", "watch"), "a detector, like GLR()"),
    "shift": PartKind("a way to change a world", ("checked", "abrupt", "shift"), "a shift, like Walk()"),
}  # fmt: skip


def kind_of(part: Any) -> str | None:
    """The kind of a part, or of a class of parts.

    Parameters
    ----------
    part : object
        Any object.

    Returns
    -------
    str or None
        A key of `KINDS`; None if it has the methods of no kind.

    Examples
    --------
    >>> from toplist.parts import KLUCB
    >>> kind_of(KLUCB()), kind_of("KLUCB")
    ('index', None)
    """
    return next((name for name, kind in KINDS.items() if all(hasattr(part, each) for each in kind.methods)), None)


def expect_kind(what: str, given: Any, kind: str) -> None:
    """Check that a value is a part of a kind, before any of its methods is called.

    Parameters
    ----------
    what : str
        Name of the argument, for the error.
    given : object
        The part.
    kind : str
        A key of `KINDS`.

    Raises
    ------
    InvalidInput
        If `given` is a class, or a method is missing.
    """
    expect(what, given, KINDS[kind].methods, KINDS[kind].accepted)

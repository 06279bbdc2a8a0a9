"""Docstrings of the NumPy convention, taken apart."""

from typing import Any

from toplist.policies import catalogue
from toplist.support.catalogue import USERS, WORLDS
from toplist.support.docstrings import descriptions, sections
from toplist.worlds import Walk


def documented() -> None:
    """Does something.

    More about it.

    Parameters
    ----------
    one : int, default 3
        The first,
        in two lines.
    two, three : float
        Both.

    Notes
    -----
    A formula.

    And its source.
    """


def plain() -> None:
    """Does something.

    Parameters are not described here.
    """


def doc(documented: Any) -> str:
    return documented.__doc__ or ""


def test_sections() -> None:
    assert list(sections(doc(documented))) == ["", "Parameters", "Notes"]
    assert sections(doc(documented))[""] == "Does something.\n\nMore about it."
    assert sections(doc(documented))["Notes"] == "A formula.\n\nAnd its source."
    assert sections("") == {"": ""}
    assert sections(doc(plain)) == {"": "Does something.\n\nParameters are not described here."}


def test_descriptions() -> None:
    assert descriptions(doc(documented)) == {"one": "The first, in two lines.", "two": "Both.", "three": "Both."}
    assert descriptions(doc(plain)) == {}
    assert list(descriptions(doc(Walk))) == list(Walk._fields)


def test_every_parameter_of_the_catalogue_is_described() -> None:
    for name, entry in catalogue().items():
        assert list(descriptions(doc(entry.build))) == list(entry.parameters), name


def test_every_parameter_of_worlds_and_users_is_described() -> None:
    for entries in (WORLDS.entries(), USERS.entries()):
        for name, entry in entries.items():
            assert set(entry.parameters) <= set(descriptions(doc(entry.build))), name

"""The contracts of policies, click models and worlds, and the checks of a part of your own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from toplist.checks import policy_promises, users_promises, world_promises
from toplist.checks.part_in_policy import policy_around
from toplist.checks.playing import shared_traces
from toplist.checks.promise import Check, CheckFailed, promises_in
from toplist.core.compiling import DoesNotCompile
from toplist.core.problem import InvalidInput, nearest, refuse
from toplist.core.protocols.kinds import KINDS, expect_kind, kind_of
from toplist.engine.simulated_problem import NamedWorld, SimulatedProblem
from toplist.policies.by_name import make

MODULES: dict[str, Any] = {"policy": policy_promises, "users": users_promises, "world": world_promises}


def contract(kind: str = "policy") -> dict[str, Check]:
    """The promises by name, in the order in which they are checked.

    Parameters
    ----------
    kind : {"policy", "users", "world"}, default "policy"
        Whose promises; "users" are click models.

    Returns
    -------
    dict of str to callable
        Each check raises `CheckFailed` where the promise is broken.

    Raises
    ------
    InvalidInput
        If there is no contract of this kind.

    Examples
    --------
    >>> list(contract())[:2], list(contract("users"))[:2]
    (['fields_have_free_names', 'prepared_parts_hold_no_text'], ['fields_have_free_names', 'clicks_fill_the_page'])
    """
    if kind not in MODULES:
        raise refuse("The kind", kind, f"one of {', '.join(MODULES)}", "choose one of them")
    return promises_in(MODULES[kind])


class Subject(NamedTuple):
    """What a check of a part looks at: the kind of contract, its arguments, and how the part gets there."""

    kind: str
    arguments: tuple[Any, ...]
    remark: str = ""  # for a part that is checked inside of something else

    @classmethod
    def of(cls, part: Any, world: Any = None) -> Subject:
        """The subject for a part of any kind; `world` is where click models are checked.

        Raises
        ------
        InvalidInput
            If there are no promises for such a part.
        """
        kind = kind_of(part)
        if kind in ("policy", "world"):
            return cls(kind, (part,))
        if kind == "users":
            return cls(kind, (part, users_promises.checked_world(world)))
        if isinstance(part, tuple) and [*map(kind_of, part)] == ["world", "users"]:
            return cls("world", (part[0],), "without the users that it comes with")
        if kind == "shift":
            changing = world_promises.world_around(part)
            return cls("world", (changing,), f"inside of {type(changing).__name__}")
        around = policy_around(part)
        if around is not None:
            return cls("policy", (around,), "inside of a policy")
        checkable = "policies, click models, worlds, and the parts of policies and of changing worlds"
        what = f"{KINDS[kind].title}, and there" if kind else f"{part!r}, and there"
        raise InvalidInput(f"It is {what} are no promises to check for that; there are promises of {checkable}.")

    def prepare(self) -> None:
        """Refuse invalid parameters, which would break every promise.

        Raises
        ------
        InvalidInput
            If a parameter cannot be used.
        """
        MODULES[self.kind].prepare_part(*self.arguments)


def check_policy(policy: Any, only: Iterable[str] | None = None) -> list[str]:
    """Check that a policy keeps its promises.

    Parameters
    ----------
    policy : policy or str
        A policy, or a name of the catalogue.
    only : iterable of str or None, default None
        Names of the promises to check; None is all of them.

    Returns
    -------
    list of str
        The names of the checked promises, all of them kept.

    Raises
    ------
    CheckFailed
        If a promise is broken.
    InvalidInput
        If there is no promise of a name in `only`.

    Examples
    --------
    >>> check_policy("cascade-ucb1", only=["lists_hold_distinct_items"])
    ['lists_hold_distinct_items']
    """
    return check_subject(Subject("policy", (make(policy),)), only)


def check_users(users: Any, only: Iterable[str] | None = None, world: Any = None) -> list[str]:
    """Check that a click model keeps its promises.

    Parameters
    ----------
    users : click model or str
        A click model, or a name of the catalogue.
    only : iterable of str or None, default None
        Names of the promises to check; None is all of them.
    world : world, str or None, default None
        World in which they are checked, for users that read its state; None is one with fixed attraction.

    Returns
    -------
    list of str
        The names of the checked promises, all of them kept.

    Raises
    ------
    CheckFailed
        If a promise is broken.
    InvalidInput
        If there is no promise of a name in `only`.

    Examples
    --------
    >>> check_users("dcm(termination=0.3)", only=["clicks_fill_the_page"])
    ['clicks_fill_the_page']
    """
    where = users_promises.checked_world(NamedWorld.of(world).world)
    made = SimulatedProblem.of(where, users, "one-sample").users
    expect_kind("The users", made, "users")
    return check_subject(Subject("users", (made, where)), only)


def check_world(world: Any, only: Iterable[str] | None = None) -> list[str]:
    """Check that a world keeps its promises.

    Parameters
    ----------
    world : world or str
        A world, or a name of the catalogue.
    only : iterable of str or None, default None
        Names of the promises to check; None is all of them.

    Returns
    -------
    list of str
        The names of the checked promises, all of them kept.

    Raises
    ------
    CheckFailed
        If a promise is broken.
    InvalidInput
        If there is no promise of a name in `only`.

    Examples
    --------
    >>> check_world("b-lb", only=["attraction_is_a_probability"])
    ['attraction_is_a_probability']
    """
    made = NamedWorld.of(world).world
    expect_kind("The world", made, "world")
    return check_subject(Subject("world", (made,)), only)


def check_part(part: Any, only: Iterable[str] | None = None) -> list[str]:
    """Check a single part of a policy, such as an index, inside of a policy whose other parts are those of toplist.

    Parameters
    ----------
    part : reading, memory, index, arrangement or detector
        The part.
    only : iterable of str or None, default None
        Names of the promises to check; None is all of them.

    Returns
    -------
    list of str
        The names of the checked promises, all of them kept.

    Raises
    ------
    CheckFailed
        If a promise is broken.
    InvalidInput
        If it is no such part, no part of toplist fits it, or there is no promise of a name in `only`.

    Examples
    --------
    >>> from toplist.parts import UCB1
    >>> check_part(UCB1(scale=2), only=["lists_hold_distinct_items"])
    ['lists_hold_distinct_items']
    """
    around = policy_around(part)
    if around is None:
        accepted = "a reading, memory, index, arrangement or detector"
        raise refuse("The part", part, accepted, "check policies, click models and worlds as such")
    return check_subject(Subject("policy", (around,)), only)


def check_subject(subject: Subject, only: Iterable[str] | None = None) -> list[str]:
    """Check the promises of a subject, or only the named ones; return their names."""
    promises = contract(subject.kind)
    wanted = list(promises) if only is None else list(only)
    for name in wanted:
        if name not in promises:
            advice = nearest(name, promises, "choose one of these")
            raise InvalidInput(f"There is no promise {name!r}, but there are {', '.join(promises)}; {advice}.")
    broken = []
    with shared_traces():
        for name in wanted:
            try:
                promises[name](*subject.arguments)
            except CheckFailed as failure:
                broken.append(f"{name}: {failure}")
            except Exception as error:  # a part that raises breaks this promise; the others are still checked
                broken.append(f"{name}: {_first_lines(error)}")
    if broken:
        raise CheckFailed("\n".join(broken))
    return wanted


def _first_lines(error: Exception) -> str:
    """An error in one sentence, where a compiler's message would fill pages."""
    if isinstance(error, DoesNotCompile):
        return str(error)
    return f"it ended in {type(error).__name__}: " + " ".join(line.strip() for line in str(error).splitlines()[:3])

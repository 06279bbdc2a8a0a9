"""Worlds, users and starts by name in Python, exactly as on the command line."""

from typing import Any

import pytest

import toplist
from toplist.clicks import Cascade
from toplist.support.catalogue import STARTS, USERS, WORLDS
from toplist.worlds import Fixed


@pytest.mark.parametrize(
    ("world", "users", "start"),
    [
        ("b-lb(items=5, positions=2)", None, "one-sample"),
        ("fixed(attraction=[0.5, 0.3, 0.1], positions=2)", "dcm(termination=0.3)", "never-seen-first"),
        (Fixed([0.5, 0.3, 0.1], 2), None, toplist.starts.OneSample()),
        ("b-top-k(items=4, positions=2)", Cascade(), "forced"),
    ],
)
def test_worlds_users_and_starts_by_name(world: Any, users: Any, start: Any) -> None:
    found = toplist.simulate("random", world, users, steps=50, runs=2, start=start, threads=1)
    made, brought = WORLDS.make(world) if isinstance(world, str) and "b-lb" in world else (world, Cascade())
    made = WORLDS.make(made) if isinstance(made, str) else made
    people = USERS.make(users) if isinstance(users, str) else users or brought
    begun = STARTS.make(start) if isinstance(start, str) else start
    expected = toplist.simulate("random", made, people, 50, 2, start=begun, threads=1)
    assert found.regret["random"].tobytes() == expected.regret["random"].tobytes()


def test_settings_have_the_names_that_were_given() -> None:
    named = toplist.simulate("best", "b-lb(items=5, positions=2)", steps=10, runs=1).settings
    world = "b-lb(items=5, positions=2, attraction=0.2, gap=0.15, termination=0.5)"
    assert (named["world"], named["users"], named["start"]) == (world, "dcm(termination=0.5)", "OneSample")
    made = toplist.simulate("best", Fixed([0.5, 0.3, 0.1], 2), Cascade(), steps=10, runs=1).settings
    assert (made["world"], made["users"], made["start"]) == ("Fixed, L = 3, K = 2", "Cascade", "OneSample")


def test_tune_and_compare_take_names_too() -> None:
    size: dict[str, Any] = {"steps": 50, "runs": 2, "threads": 1}
    world, users = Fixed([0.5, 0.3, 0.1], 2), toplist.clicks.DCM(0.3)
    text = "fixed(attraction=[0.5, 0.3, 0.1], positions=2)"
    by_name = toplist.compare("random", {"a": (text, "dcm(termination=0.3)"), "b": (text, None)}, **size)
    by_part = toplist.compare("random", {"a": (world, users), "b": (world, Cascade())}, **size)
    assert by_name.regret["a"]["random"].tolist() == by_part.regret["a"]["random"].tolist()
    assert by_name.regret["b"]["random"].tolist() == by_part.regret["b"]["random"].tolist()
    tuned = toplist.tune("cascade-ucb1", {"scale": [0.5]}, text, "dcm(termination=0.3)", **size)
    assert tuned.rows() == toplist.tune("cascade-ucb1", {"scale": [0.5]}, world, users, **size).rows()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"world": "b-lbb"}, r"There is no world 'b-lbb', but there are .*; perhaps you mean 'b-lb'\.$"),
        ({"world": "fixed"}, r"fixed needs attraction and positions; write fixed\(attraction=..., positions=...\)"),
        ({"world": '{"type": "fixed"}'}, r"write it like 'fixed\(attraction=..., positions=...\)'\.$"),
        ({"world": {"type": "fixed"}}, r"The world is \{.*\}, but must be a world, like Fixed\(\), or its name"),
        ({"world": "mine.py:World"}, r"in Python, import World and give World\(\) itself"),
        ({"users": "cascad"}, "There is no click model 'cascad', but .*; perhaps you mean 'cascade'"),
        ({"users": "dcm(term=0.3)"}, "dcm has no parameter 'term', but has termination; perhaps you mean"),
        ({"start": "force"}, "There is no start 'force', but .*; perhaps you mean 'forced'"),
        ({"start": 5}, r"The start is 5, but must be OneSample\(\), Forced\(\) or NeverSeenFirst\(\), or its name"),
    ],
)
def test_wrong_names_are_refused(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"world": "b-lb", "steps": 10, "runs": 1, **changes}
    with pytest.raises(toplist.InvalidInput, match=message):
        toplist.simulate("random", **given)

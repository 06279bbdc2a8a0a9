"""Every error says what was given, what is accepted and what to do, before any work starts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.clicks import DBN, DCM, Cascade
from toplist.core.problem import refuse, short_repr
from toplist.engine.starts import Forced
from toplist.parts.feedback import EveryPlace, ThroughFirstClick, ThroughLastClick
from toplist.parts.index import KLUCB, UCB1, ExploringDraw
from toplist.parts.memory import Everything, ExponentialWeights
from toplist.policies import Policy, Ranked
from toplist.worlds import b_lb, b_top_k

ShowList: Any = toplist.policies.ShowList
Fixed: Any = toplist.worlds.Fixed  # untyped, because wrong types are given to it
WORLD = Fixed([0.5, 0.3, 0.2], 2)


def simulate(**changes: Any) -> Any:
    arguments: dict[str, Any] = {
        "policies": "random", "world": WORLD, "users": Cascade(), "steps": 10, "runs": 2, "seed": 0, **changes
    }  # fmt: skip
    return toplist.simulate(**arguments)


def composed(**parts: Any) -> Policy:
    return Policy(**{"reading": ThroughFirstClick(), "memory": Everything(), "scoring": UCB1(), **parts})


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "K over L": (lambda: simulate(world=Fixed([0.5, 0.3], 3)), "K is 3, but there are only L = 2 items"),
    "K below 1": (lambda: simulate(world=Fixed([0.5], 0)), "K is 0, but must be a whole number of at least 1"),
    "K not whole": (lambda: simulate(world=Fixed([0.5], 1.0)), "positions K is 1.0, but must be a whole number"),
    "no items": (lambda: simulate(world=Fixed([], 1)), "There are no items"),
    "attraction over 1": (lambda: simulate(world=Fixed([0.5, 1.2], 1)), r"attraction\[1\] is 1.2"),
    "attraction NaN": (lambda: simulate(world=Fixed([np.nan, 0.2], 1)), r"attraction\[0\] is nan"),
    "attraction words": (lambda: simulate(world=Fixed(["a"], 1)), "attraction is .*numbers between 0 and 1"),
    "attraction nested": (lambda: simulate(world=Fixed([[0.5]], 1)), "flat sequence"),
    "termination below 0": (lambda: simulate(users=DCM(-0.1)), r"termination\[0\] is -0.1"),
    "termination of wrong length": (lambda: simulate(users=DCM([0.5] * 3)), "must be 2 probabilities"),
    "satisfaction NaN": (lambda: simulate(users=DBN(np.nan, 0.5)), r"satisfaction\[0\] is nan"),
    "persistence over 1": (lambda: simulate(users=DBN(0.5, 1.5)), "persistence is 1.5"),
    "depth 0": (lambda: simulate(users=Cascade(0)), "depth is 0"),
    "zero steps": (lambda: simulate(steps=0), "number of steps is 0"),
    "steps not whole": (lambda: simulate(steps=1e5), "number of steps is 100000.0"),
    "zero runs": (lambda: simulate(runs=0), "number of runs is 0"),
    "negative seed": (lambda: simulate(seed=-1), "seed is -1"),
    "huge seed": (lambda: simulate(seed=2**63), "below 2"),
    "zero threads": (lambda: simulate(threads=0), "number of threads is 0"),
    "checkpoint beyond the end": (lambda: simulate(checkpoints=[5, 11]), "checkpoint is 11"),
    "no policies": (lambda: simulate(policies=[]), "No policies were given"),
    "unknown policy": (lambda: simulate(policies="cascade-klucb"), "perhaps you mean 'cascade-kl-ucb'"),
    "unknown parameter": (lambda: simulate(policies="cascade-ucb1(scal=2)"), "perhaps you mean 'scale'"),
    "unreadable parameters": (lambda: simulate(policies="cascade-ucb1(2)"), "write it like"),
    "not a policy": (lambda: simulate(policies=3), "has no prepare"),
    "KLUCB over weights": (
        lambda: simulate(policies=composed(memory=ExponentialWeights(), scoring=KLUCB())),
        r"KLUCB reads counts, but ExponentialWeights keeps weights; use Discounted\(\) or Everything\(\) or ",
    ),
    "Exp3 over counts": (
        lambda: simulate(policies=Ranked(EveryPlace(), Everything(), ExploringDraw())),
        "ExploringDraw reads weights, but Everything keeps counts",
    ),
    "scale NaN": (lambda: simulate(policies=composed(scoring=UCB1(np.nan))), "scale is nan"),
    "reading": (lambda: simulate(policies=composed(reading=ThroughLastClick("maybe"))), "none is .maybe"),
    "reading without weight": (lambda: simulate(policies=composed(reading=ThroughFirstClick(0.0))), "weight is 0.0"),
    "order of other positions": (lambda: simulate(policies="dcm-kl-ucb(order=[1, 3])"), "positions 1 to 2 once"),
    "order in words": (lambda: simulate(policies="dcm-kl-ucb(order='up')"), "order is 'up'"),
    "collision": (lambda: simulate(policies="ranked-ucb1(collision='no')"), "collision is 'no'"),
    "list with repetition": (lambda: simulate(policies=ShowList([1, 1])), "2 different items"),
    "prior": (lambda: simulate(policies=composed(memory=Everything(prior_mean=2))), "prior_mean is 2"),
    "gap over attraction": (lambda: b_top_k(4, 2, 0.1, 0.2), "gap D is 0.2"),
    "termination of B_LB": (lambda: b_lb(4, 2, 0.2, 0.1, 7), "termination g is 7"),
    "forced start without pins": (lambda: simulate(policies="best", start=Forced()), "takes no pins"),
    "world and users swapped": (lambda: simulate(world=Cascade(), users=WORLD), "The world is .* has no checked"),
    "a class for users": (lambda: simulate(users=Cascade), r"write Cascade\(\) with its brackets"),
    "an unknown start": (lambda: simulate(start="forcd"), r"'forcd'.*forced"),
    "reading and memory swapped": (
        lambda: simulate(policies=composed(reading=Everything(), memory=ThroughFirstClick())),
        "The reading is .* has no read",
    ),
    "one item at a time": (
        lambda: simulate(policies=composed(memory=ExponentialWeights(), scoring=ExploringDraw())),
        "draws one item at a time, but Policy needs a whole list",
    ),
    "order that is not whole": (lambda: simulate(policies="dcm-kl-ucb(order=[1.9, 2.2])"), "positions 1 to 2 once"),
    "order of nothing": (lambda: simulate(policies="dcm-kl-ucb(order=5)"), "order is 5"),
    "list of fractions": (lambda: simulate(policies=ShowList([0.5, 1])), "list is 0.5"),
    "checkpoints": (lambda: simulate(checkpoints=2.5), "checkpoints is 2.5"),
    "progress": (lambda: simulate(progress=5), "progress is 5"),
    "label": (lambda: simulate(policies={1: "random"}), "label is 1"),
    "plot in a missing folder": (lambda: simulate(plot="missing/folder/x.png"), "create the folder"),
    "plot of unknown kind": (lambda: simulate(plot="x.doc"), "ends in .png, .svg or .pdf"),
    "resume from a missing folder": (lambda: simulate(resume="missing/x.npz"), "create the folder"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_refused_before_any_work(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: Any) -> None:
        raise AssertionError("work was started")

    monkeypatch.setattr("toplist.engine.simulate.RunScheduler.play", work)
    call, message = BAD[case]
    with pytest.raises(toplist.InvalidInput, match=message) as refused:
        call()
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")
    assert ";" in str(refused.value)


class Unseen:
    """An entry that must not be looked at."""

    def __repr__(self) -> str:
        raise AssertionError("the whole was written")


@pytest.mark.parametrize(
    "given",
    [
        [7] * 100 + [Unseen()],
        dict.fromkeys(range(100)) | {100: Unseen()},
        [[[7] * 100, Unseen()]],
        ("x" * 100, Unseen()),
    ],
)
def test_an_error_shows_the_beginning_of_a_long_value_without_writing_all_of_it(given: Any) -> None:
    said = str(refuse("It", given, "short", "send less"))
    assert said.endswith("..., but must be short; send less.")
    assert len(said) == len("It is , but must be short; send less.") + 80


@pytest.mark.parametrize("given", [[], [7], (7,), (1, "a"), {"a": [1]}, {1}, "a'b", b"x", None, np.int64(3), [[()]]])
def test_an_error_shows_a_short_value_whole(given: Any) -> None:
    assert short_repr(given) == repr(given)

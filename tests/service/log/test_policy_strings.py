"""Policies of requests, with every parameter set to all kinds of values: each works or is refused with a reason."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from toplist.core.problem import InvalidInput
from toplist.policies.by_name import catalogue, make
from toplist.ranker import LoggedRanker
from toplist.service.log import replay, training
from toplist.service.log.events import RankingEvent
from toplist.service.log.settings import LearnerSettings
from toplist.service.wire import RankingSpec

VALUES = (
    "None", "True", "{}", "[]", "'x'", "''", "'theory'", "-1", "0", "0.5", "1e308", "1e-320", "inf", "nan",
    "9007199254740991", str(2**200), "1" + "0" * 400, "100000000", "[None]", "[[1]]", "{'a': 1}", "b'x'", "set()",
    "[1e308] * 3", "(1, 2, 3)", "[-1.0, 0.5, 'x']",
)  # fmt: skip
MOST_STEPS = 2**53 - 1


def policies() -> Iterator[tuple[str, int | None]]:
    for name, entry in catalogue().items():
        for steps in (None, 1, MOST_STEPS):
            yield name, steps
        for parameter in entry.parameters:
            for value in VALUES:
                yield f"{name}({parameter}={value})", 1000


class Plain(LoggedRanker):
    """A ranker in plain Python: compiling some hundred policies would take long."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, compiled=False, **more)


def test_every_policy_of_a_request_works_or_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "LoggedRanker", Plain)
    outcomes = {"works": 0, "refused": 0}
    features = {name: 4 if make(name).capabilities().needs_features else 0 for name in catalogue()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers like 1e308
        for policy, steps in policies():
            spec = RankingSpec(
                name="a", positions=3, policy=policy, steps=steps, features=features[policy.partition("(")[0]]
            )
            try:
                training.compile_policy(LearnerSettings.of(RankingEvent(spec, longest=1)))
                outcomes["works"] += 1
            except InvalidInput:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 100


def test_a_window_that_would_not_fit_is_refused_before_it_is_made() -> None:
    spec = RankingSpec(name="a", positions=3, policy="cascade-swucb", steps=MOST_STEPS)
    with pytest.raises(InvalidInput, match="at most 1e"):
        training.compile_policy(LearnerSettings.of(RankingEvent(spec)))
    spec = RankingSpec(name="a", positions=1000, policy="cascade-swucb(tau=1000000)")
    with pytest.raises(InvalidInput, match="would store 3000000000 numbers"):
        training.compile_policy(LearnerSettings.of(RankingEvent(spec)))

"""The readings, against a second implementation of their definitions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toplist.core.problem import Problem
from toplist.core.slate import Page, empty_page
from toplist.parts.feedback import EveryPlace, OnlyLastClick, ThroughFirstClick, ThroughLastClick, UntilSatisfied

PROBLEM = Problem(9, 6)
READINGS: dict[str, Any] = {
    "first click": ThroughFirstClick(),
    "last click": OnlyLastClick(),
    "until last click": ThroughLastClick(),
    "until last click, none without one": ThroughLastClick(none="nothing"),
    "until satisfied": UntilSatisfied(),
    "every position": EveryPlace(),
    "every position, last click": EveryPlace("last"),
}


def expected(reading: str, clicks: list[int], left: int) -> list[tuple[float, float]]:
    """(weight, value) per position, as the table of readings defines them."""
    places = range(len(clicks))
    clicked = [place for place in places if clicks[place]]
    everything = set(places)
    examined = {
        "first click": set(range(clicked[0] + 1)) if clicked else everything,
        "last click": set(range(clicked[-1] + 1)) if clicked else everything,
        "until last click": set(range(clicked[-1] + 1)) if clicked else everything,
        "until last click, none without one": set(range(clicked[-1] + 1)) if clicked else set(),
        "until satisfied": set(range(left)),
        "every position": everything,
        "every position, last click": everything,
    }[reading]
    counting = {
        "first click": clicked[:1],
        "last click": clicked[-1:],
        "every position, last click": clicked[-1:],
    }.get(reading, clicked)
    return [(1.0 if place in examined else 0.0, 1.0 if place in counting else 0.0) for place in places]


def read(reading: str, clicks: list[int], left: int = 0, seen: list[float] | None = None) -> Page:
    page = empty_page(PROBLEM.positions)
    page.weight[:], page.value[:] = 7.0, 7.0  # leftovers of an earlier page
    page.clicks[: len(clicks)] = clicks
    page.left[0] = left
    if seen is not None:
        page.seen[: len(seen)] = seen
    READINGS[reading].prepare(PROBLEM).read(page, len(clicks))
    return page


@given(st.sampled_from(sorted(READINGS)), st.lists(st.integers(0, 1), min_size=1, max_size=6), st.data())
def test_readings_follow_their_definitions(reading: str, clicks: list[int], data: st.DataObject) -> None:
    last = max((place + 1 for place, click in enumerate(clicks) if click), default=1)
    left = data.draw(st.integers(last, len(clicks)))
    page = read(reading, clicks, left)
    found = list(zip(page.weight, page.value, strict=True))[: len(clicks)]
    for here, wanted in zip(found, expected(reading, clicks, left), strict=True):
        assert here[0] == wanted[0]
        if wanted[0]:
            assert here[1] == wanted[1]


def test_until_satisfied_without_the_position_where_users_left() -> None:
    assert read("until satisfied", [0, 1, 0, 0]).weight[:4].tolist() == [1, 1, 0, 0]
    assert read("until satisfied", [0, 0, 0, 0]).weight[:4].tolist() == [1, 1, 1, 1]


def test_view_probabilities_scale_weights_except_at_clicks() -> None:
    page = read("until last click", [0, 1, 0, 1, 0], seen=[0.5, 0.0, 0.25, 1.0, 1.0])
    assert page.weight[:5].tolist() == [0.5, 1.0, 0.25, 1.0, 0.0]
    assert page.value[[1, 3]].tolist() == [1.0, 1.0]


def test_weight_scales_every_observation() -> None:
    page = empty_page(2)
    ThroughFirstClick(weight=0.5).prepare(PROBLEM).read(page, 2)
    assert page.weight.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("reading", READINGS)
def test_preparing_twice_is_preparing_once(reading: str) -> None:
    once = READINGS[reading].prepare(PROBLEM)
    assert once.prepare(PROBLEM) == once


def test_both_meanings_of_a_page_without_clicks_are_supported() -> None:
    assert np.all(read("until last click", [0, 0, 0]).weight[:3] == 1.0)
    assert np.all(read("until last click, none without one", [0, 0, 0]).weight[:3] == 0.0)

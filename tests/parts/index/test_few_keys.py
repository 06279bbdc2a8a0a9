"""Keys of few items: the lists of `select`, whatever the leading bits leave open."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist import clicks, simulate, worlds
from toplist.core.compiling import compiled
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Request
from toplist.parts.index import few_keys
from toplist.parts.index.few_keys import EARLY, PLACES, STANDING_BITS, WIDTH, key_scratch, select_by_keys, select_early

by_keys_compiled = compiled(select_by_keys)
early_compiled = compiled(select_early)

INFINITY = float("inf")
NEXT = float(np.nextafter(0.5, 1.0))  # the same leading bits as 0.5


def request_of(first: int, count: int, key: int) -> Request:
    """Contiguous candidates from `first` on, among more items, with labels in another order."""
    labels = np.random.default_rng(count).permutation(first + count)
    return Request(first + np.arange(count), 1, NONE, NONE, np.zeros((1, 0)), 0, labels, key)


def by_rule(values: list[float], request: Request) -> list[int]:
    """All candidates, as a full sort orders them."""
    slots = request.candidates.tolist()
    pairs = [
        (value, branch(request.key, int(request.labels[slot])), slot) for value, slot in zip(values, slots, strict=True)
    ]
    return [slot for _, _, slot in sorted(pairs, reverse=True)]


@given(
    st.lists(
        st.sampled_from([-INFINITY, 0.0, 0.25, 0.5, NEXT, INFINITY]) | st.floats(0, 2), min_size=1, max_size=PLACES
    ),
    st.integers(1, WIDTH),
    st.integers(0, 5),
    st.integers(0, 2**62),
)
@settings(max_examples=400, deadline=None)
def test_early_lists_are_those_of_a_full_sort(values: list[float], wanted: int, first: int, key: int) -> None:
    count = len(values)
    request, expected = request_of(first, count, key), by_rule(values, request_of(first, count, key))[:wanted]
    for choose in (select_early, early_compiled):
        for lists in (0.0, EARLY * count + 1.0):
            chosen, scores, keys = np.full(wanted, -1), np.zeros(wanted), key_scratch(Problem(PLACES, wanted))
            choose(np.array(values), request, lists, keys, chosen, scores)
            assert chosen[: len(expected)].tolist() == expected
            assert scores[: len(expected)].tolist() == [values[slot - first] for slot in expected]


@pytest.mark.parametrize("wanted", range(1, WIDTH + 1))
@pytest.mark.parametrize("count", [WIDTH, 5, 16, 31, PLACES])
def test_keys_decide_nearly_all_lists_and_no_list_wrongly(wanted: int, count: int) -> None:
    """Values of four levels, as in early lists; equal leading bits of standings are the only doubt, below 1 of 100."""
    generator, decided = np.random.default_rng((wanted, count)), 0
    keys, chosen, scores = key_scratch(Problem(PLACES, wanted)), np.zeros(wanted, dtype=np.int64), np.zeros(wanted)
    for key in range(400):
        values, request = generator.integers(0, 4, count) / 4.0, request_of(3, count, key)
        if by_keys_compiled(values, request, keys, chosen, scores):
            decided += 1
            assert chosen.tolist() == by_rule(values.tolist(), request)[:wanted]
    assert decided >= 396


def test_values_with_the_same_leading_bits_are_left_open() -> None:
    values, keys = np.full(9, 0.25), key_scratch(Problem(9, WIDTH))
    chosen, scores = np.zeros(WIDTH, dtype=np.int64), np.zeros(WIDTH)
    for higher in (1, 4, 5):  # more and fewer than fill the list: among the chosen, or at the end
        values[:] = 0.25
        values[:higher] = 0.5
        values[higher] = NEXT
        assert not select_by_keys(values, request_of(0, 9, 7), keys, chosen, scores)
        values[higher] = 0.75
        assert select_by_keys(values, request_of(0, 9, 7), keys, chosen, scores)


def test_standings_with_the_same_leading_bits_are_left_open() -> None:
    seen: dict[int, int] = {}
    for label in range(2000):  # two labels whose standings agree in their leading bits
        bits = branch(11, label) >> (64 - STANDING_BITS)
        if bits in seen:
            break
        seen[bits] = label
    labels = np.array([seen[bits], label])
    request = Request(np.arange(2), 1, NONE, NONE, np.zeros((1, 0)), 0, labels, 11)
    keys, chosen, scores = key_scratch(Problem(2, 1)), np.zeros(1, dtype=np.int64), np.zeros(1)
    assert not select_by_keys(np.array([0.5, 0.5]), request, keys, chosen, scores)
    assert select_by_keys(np.array([0.5, 0.25]), request, keys, chosen, scores)


def test_there_are_no_keys_for_more_items_or_longer_lists() -> None:
    assert len(key_scratch(Problem(PLACES, WIDTH))) == PLACES
    assert len(key_scratch(Problem(PLACES + 1, WIDTH))) == 0
    assert len(key_scratch(Problem(PLACES, WIDTH + 1))) == 0


@pytest.mark.parametrize("name", ["cascade-ucb1", "cascade-ucb-v"])
def test_runs_are_those_without_keys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = worlds.b_top_k(12, 3)
    quick = simulate(name, world, clicks.Cascade(), 300, 2, compiled=False)
    monkeypatch.setattr(few_keys, "EARLY", -1)
    slow = simulate(name, world, clicks.Cascade(), 300, 2, compiled=False)
    assert {label: curves.tolist() for label, curves in quick.regret.items()} == {
        label: curves.tolist() for label, curves in slow.regret.items()
    }

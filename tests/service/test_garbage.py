"""Garbage of a service is collected in small portions, however long it runs."""

import gc
from collections import deque
from typing import Any

import pytest

from toplist.service import garbage
from toplist.service.garbage import NewGarbage, rare_garbage_collection

REMEMBERED = 20_000
REQUESTS = 30 * garbage.EVERY


def most_at_once(new: NewGarbage | None) -> int:
    """The most young objects that wait for a collection while each request keeps some, and frees as many old ones."""
    remembered: deque[list[Any]] = deque(([[], [], []] for _ in range(REMEMBERED)), maxlen=REMEMBERED)
    most = 0
    with rare_garbage_collection():
        for number in range(REQUESTS):
            remembered.append([[], [], []])
            if new is not None:
                new.count_request()
            if number % 100 == 0:
                most = max(most, len(gc.get_objects(0)) + len(gc.get_objects(1)))
    return most


@pytest.mark.parametrize("is_counted", [False, True])
def test_few_new_objects_wait_for_a_collection(is_counted: bool) -> None:
    most = most_at_once(NewGarbage() if is_counted else None)
    assert (most < 10 * garbage.EVERY) == is_counted


def test_cycles_of_requests_are_collected() -> None:
    def leave_cycle() -> None:
        cycle: list[Any] = []
        cycle.append(cycle)

    new, found = NewGarbage(), []

    def noted(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            found.append(info["collected"])

    with rare_garbage_collection():
        gc.callbacks.append(noted)
        try:
            for _ in range(3 * garbage.EVERY):
                leave_cycle()
                new.count_request()
        finally:
            gc.callbacks.remove(noted)
    assert found == [garbage.EVERY] * 3

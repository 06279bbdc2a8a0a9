"""Many threads and one ranker: lists are made beside each other, changes are made one at a time."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from toplist import Ranker
from toplist.core.beliefs import array_bytes
from toplist.ranker import AlreadyLearned
from toplist.ranker.read_write_lock import Gate

ITEMS = [f"item {n}" for n in range(40)]


def test_readers_run_beside_the_writer() -> None:
    """Four readers and a writer; what is learned is what one thread would have learned from the same lists."""
    ranker = Ranker(ITEMS, positions=5, policy="dcm-kl-ucb", seed=1)
    alone = Ranker(ITEMS, positions=5, policy="dcm-kl-ucb", seed=1)
    made: list[tuple[str, ...]] = []
    stopped = threading.Event()
    faults: list[BaseException] = []

    def read() -> None:
        try:
            while not stopped.is_set():
                shown = ranker.rank(among=ITEMS[:20], positions=3)
                assert len(set(shown)) == 3
                assert set(shown) <= set(ITEMS[:20])
                assert len(ranker.estimates()) >= len(ITEMS)
        except BaseException as fault:
            faults.append(fault)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        for step in range(400):
            shown = ranker.rank()
            made.append(shown.items)
            ranker.learn(shown, clicks=[1 + step % 5])
            if step % 50 == 0:
                ranker.add(f"new {step}")
    finally:
        stopped.set()
        for reader in readers:
            reader.join()
    assert not faults
    for step, items in enumerate(made):
        alone.learn(alone.adopt(items), clicks=[1 + step % 5])
        if step % 50 == 0:
            alone.add(f"new {step}")
    assert array_bytes(ranker.belief) == array_bytes(alone.belief)


def test_every_list_is_learned_once_whoever_comes_first() -> None:
    ranker = Ranker(ITEMS, positions=5, policy="cascade-ucb1")
    lists = [ranker.rank() for _ in range(300)]

    def learn(number: int) -> bool:
        try:
            ranker.learn(lists[number % 300], clicks=[1])
        except AlreadyLearned:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(learn, range(900)))
    assert sum(outcomes) == ranker.learned == 300
    assert ranker.belief.clicked.sum() == 300.0


def test_lists_made_at_once_have_numbers_of_their_own() -> None:
    ranker = Ranker(ITEMS, positions=5, policy="random")
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: ranker.rank().number, range(400)))
    assert sorted(numbers) == list(range(400))


def test_saving_beside_learning_keeps_a_moment_between_two_lists(tmp_path_factory: pytest.TempPathFactory) -> None:
    """In each file the clicks add up: no list is half learned."""
    folder = tmp_path_factory.mktemp("saves")
    ranker = Ranker(ITEMS[:5], positions=5, policy="random")
    stopped = threading.Event()

    def write() -> None:
        while not stopped.is_set():
            ranker.learn(ranker.rank(), clicks=[1, 2, 3, 4, 5])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(10):
            ranker.save(folder / f"{number}.npz")
    finally:
        stopped.set()
        writer.join()
    for number in range(10):
        loaded = Ranker.load(folder / f"{number}.npz")
        assert np.all(loaded.belief.clicked == loaded.learned)


def test_the_gate_lets_readers_in_together_and_a_writer_alone() -> None:
    gate = Gate()
    both_in = threading.Barrier(2)

    def read() -> None:
        with gate.reading:
            both_in.wait(timeout=30)  # breaks unless two readers are in at once

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(read) for _ in range(2)]:
            done.result()

    inside = 0
    most = 0

    def write() -> None:
        nonlocal inside, most
        with gate.writing:
            inside += 1
            most = max(most, inside)
            time.sleep(0.0005)
            inside -= 1

    def look() -> None:
        with gate.reading:
            assert inside == 0

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(write if number % 3 == 0 else look) for number in range(300)]:
            done.result()
    assert most == 1


def test_a_waiting_writer_is_not_starved() -> None:
    """A reader that comes after a waiting writer goes after it."""
    gate = Gate()
    order: list[str] = []
    first_in, first_out = threading.Event(), threading.Event()

    def first() -> None:
        with gate.reading:
            first_in.set()
            first_out.wait(timeout=30)

    def write() -> None:
        with gate.writing:
            order.append("writer")

    def second() -> None:
        with gate.reading:
            order.append("reader")

    one = threading.Thread(target=first)
    one.start()
    first_in.wait(timeout=30)
    writer = threading.Thread(target=write)
    writer.start()
    while gate._entry.acquire(blocking=False):  # until the writer stands in the door
        gate._entry.release()
        time.sleep(0.001)
    other = threading.Thread(target=second)
    other.start()
    first_out.set()
    for thread in (one, writer, other):
        thread.join(timeout=30)
    assert order == ["writer", "reader"]


def test_a_reader_that_was_interrupted_locks_nobody_out() -> None:
    """Ctrl-C may fall between coming in and being on record as one who will leave."""
    gate = Gate()
    gate.reading.__enter__()  # and never left
    with gate.writing:  # by the same thread: it knows that it is not reading
        pass
    gate.reading.__enter__()
    with gate.reading:
        pass
    entered = threading.Event()

    def write() -> None:
        with gate.writing:
            entered.set()

    threading.Thread(target=write, daemon=True).start()
    assert entered.wait(timeout=30)

"""Many threads and one ranker: lists are made in parallel, changes one at a time."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from toplist import Ranker
from toplist.core.beliefs import array_bytes
from toplist.ranker import AlreadyLearned
from toplist.ranker.read_write_lock import ReadWriteLock

ITEMS = [f"item {n}" for n in range(40)]


def test_readers_run_beside_the_writer() -> None:
    """Four readers and a writer learn the same as one thread from the same lists."""
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


def test_every_list_is_learned_by_one_thread_only() -> None:
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


def test_lists_made_in_parallel_have_different_numbers() -> None:
    ranker = Ranker(ITEMS, positions=5, policy="random")
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: ranker.rank().number, range(400)))
    assert sorted(numbers) == list(range(400))


def test_a_file_saved_during_learning_holds_whole_lists(tmp_path_factory: pytest.TempPathFactory) -> None:
    """In each file the clicks add up: no list is learned in part."""
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


def test_the_lock_admits_readers_together_and_a_writer_alone() -> None:
    lock = ReadWriteLock()
    both_in = threading.Barrier(2)

    def read() -> None:
        with lock.reading:
            both_in.wait(timeout=30)  # breaks unless two readers are in at once

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(read) for _ in range(2)]:
            done.result()

    inside = 0
    most = 0

    def write() -> None:
        nonlocal inside, most
        with lock.writing:
            inside += 1
            most = max(most, inside)
            time.sleep(0.0005)
            inside -= 1

    def look() -> None:
        with lock.reading:
            assert inside == 0

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(write if number % 3 == 0 else look) for number in range(300)]:
            done.result()
    assert most == 1


def test_a_waiting_writer_is_not_starved() -> None:
    """A reader that arrives after a waiting writer enters after it."""
    lock = ReadWriteLock()
    order: list[str] = []
    first_in, first_out = threading.Event(), threading.Event()

    def first() -> None:
        with lock.reading:
            first_in.set()
            first_out.wait(timeout=30)

    def write() -> None:
        with lock.writing:
            order.append("writer")

    def second() -> None:
        with lock.reading:
            order.append("reader")

    one = threading.Thread(target=first)
    one.start()
    first_in.wait(timeout=30)
    writer = threading.Thread(target=write)
    writer.start()
    while not lock.has_writer:
        time.sleep(0.001)
    other = threading.Thread(target=second)
    other.start()
    first_out.set()
    for thread in (one, writer, other):
        thread.join(timeout=30)
    assert order == ["writer", "reader"]


def test_an_interrupted_reader_does_not_block_the_lock() -> None:
    """Ctrl-C may come between entering and the start of the `with` block."""
    lock = ReadWriteLock()
    lock.reading.__enter__()  # without __exit__
    with lock.writing:  # by the same thread, which therefore does not read any more
        pass
    lock.reading.__enter__()
    with lock.reading:
        pass
    entered = threading.Event()

    def write() -> None:
        with lock.writing:
            entered.set()

    threading.Thread(target=write, daemon=True).start()
    assert entered.wait(timeout=30)

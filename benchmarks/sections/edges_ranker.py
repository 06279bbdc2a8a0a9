"""What do exclusions, items that come and go, and very many items cost a ranker?"""

from __future__ import annotations

import gc
import hashlib
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.contenders import Size
from benchmarks.measure import Effort
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells
from toplist import Ranker

SIZES = (Size(1000, 10), Size(10_000, 10), Size(100_000, 10), Size(1_000_000, 10))
QUICK_SIZES = (Size(200, 4),)
POLICY = "dcm-kl-ucb"
POLICIES = ("dcm-ts", POLICY, "cascade-ucb1")
LISTS, QUICK_LISTS = 200, 5
AT_MOST = Target(1.5, at_most=True)

WHOLE_SIZE, QUICK_WHOLE_SIZE = Size(1_000_000, 10), Size(300, 4)
# A fifth of the seconds that these took for a million items before the work on very many items.
FIFTHS = {"build": 2.4 / 5, "build with a prior": 7.6 / 5, "load": 2.0 / 5, "estimates()": 2.0 / 5}
COME_AND_GO = Target(100.0, at_most=True)  # us besides the list, whatever the number of items
GROWTH = Target(1.0, at_most=True)  # us per item, since as many have to come until the next growth
GROWTHS = 3
NEW_ITEMS = {10_000: Target(0.5 / 5, at_most=True), 1_000_000: Target(90.0 / 5, at_most=True)}  # ms: a fifth of before

CURVE, QUICK_CURVE = (1000, 10_000, 100_000, 1_000_000, 10_000_000), (1000, 5000)
CURVE_LISTS, QUICK_CURVE_LISTS = 2000, 30
TRACED_LISTS = 30
MEDIAN, P99 = Target(150.0, at_most=True), Target(1000.0, at_most=True)
JUDGED = 1_000_000  # items at which the curve has targets


def measure(effort: Effort) -> Sequence[Table]:
    """Lists with exceptions; whole operations; and the curve over the number of items."""
    return [exceptions_table(effort), whole_table(effort), curve_table(effort)]


# Lists with exceptions ------------------------------------------------------------------------------------------------


def exceptions_table(effort: Effort) -> Table:
    """Each kind of list beside a plain one of the same ranker, in turn."""
    lists = QUICK_LISTS if effort.quick else LISTS
    sizes = QUICK_SIZES if effort.quick else SIZES
    rows = [row for policy in POLICIES for size in sizes for row in exceptions(policy, size, lists)]
    columns: dict[str, Show] = {
        "algorithm": str,
        "what": str,
        "size": str,
        "baseline": str,
        "plain": nanoseconds,
        "cost": nanoseconds,
        "ratio": times,
        "target": str,
        "verdict": str,
    }
    notes = [
        f"CPU time of a list, median of up to {lists}; the baseline in turn with it, on the same ranker.",
        f"after a growth: one more item, for which the ranker makes room for twice as many, and a list; of {GROWTHS}.",
        "by sets: the eligible slots as np.setdiff1d and np.union1d find them, without the list.",
        "new_per_list: another ranker of the same items, of which the first half was examined.",
    ]
    return Table("Ranker: lists with exceptions, and items that come and go", columns, rows, notes)


def exceptions(policy: str, size: Size, lists: int) -> list[dict[str, Any]]:
    """The rows of one policy and size."""
    names = [f"item {n}" for n in range(size.items)]
    ranker, limited = (Ranker(names, size.positions, policy, seed=1, new_per_list=limit) for limit in (None, 2))
    for start in range(0, size.items, 2 * size.positions):
        limited.learn(limited.adopt(names[start : start + size.positions]), clicks=())
    for each in (ranker, limited):
        play(each, 5 * lists)
    hundred, even = names[:: max(1, size.items // 100)][:100], names[::2]
    number = iter(range(10**9))

    def come_and_go() -> None:
        name = names[next(number) % size.items]
        ranker.remove(name)
        ranker.rank()
        ranker.add(name)

    slot_of = {name: slot for slot, name in enumerate(names)}

    def by_sets() -> None:
        slots = [slot_of[name] for name in even]
        np.union1d(np.setdiff1d(np.array(slots), [3]), [5])

    rows = [
        compare("one item excluded", ranker.rank, lambda: ranker.rank(exclude=names[5:6]), lists, AT_MOST),
        compare("100 items excluded", ranker.rank, lambda: ranker.rank(exclude=hundred), lists, AT_MOST),
        compare("one item pinned", ranker.rank, lambda: ranker.rank(pins={3: names[7]}), lists, AT_MOST),
        judged(
            compare("one goes, a list, one comes", ranker.rank, come_and_go, lists, None), COME_AND_GO, 1e6, " us more"
        ),
        judged(
            compare("new_per_list=2", ranker.rank, limited.rank, lists, None),
            NEW_ITEMS.get(size.items),
            1e3,
            " ms more",
        ),
    ]
    ranker.hide(hundred[:50])
    rows.append(compare("50 items hidden", limited_to_plain(policy, names, size), ranker.rank, lists, AT_MOST))
    few = max(3, min(lists, 2_000_000 // size.items))
    rows.append(
        compare("among every second", by_sets, lambda: ranker.rank(among=even), few, None) | {"baseline": "by sets"}
    )
    rows.append(after_growth(policy, names, size))
    return [row | {"algorithm": policy, "size": str(size)} for row in rows]


def after_growth(policy: str, names: Sequence[str], size: Size) -> dict[str, Any]:
    """The row of an item that comes when all room is taken, and the list after it."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(GROWTHS + 1):  # the first compiles
        ranker = Ranker(names, size.positions, policy, seed=1)
        play(ranker, 20)
        ranker.rank(exclude=names[:1])  # from now on it knows where each name is
        gc.collect()
        begun = time.process_time()
        ranker.rank()
        listed = time.process_time()
        ranker.add("one more")
        ranker.rank()
        seconds[1].append(time.process_time() - listed)
        seconds[0].append(listed - begun)
    first, second = (median(each[1:]) for each in seconds)
    cells = {"what": "after a growth", "baseline": "plain list", "plain": first, "cost": second}
    cells |= {"ratio": second / max(first, 1e-9)}
    target = GROWTH if size in SIZES else None
    return cells | verdict_cells(1e6 * second / size.items, target, " us per item")


def limited_to_plain(policy: str, names: Sequence[str], size: Size) -> Callable[[], Any]:
    """Plain lists of another ranker, from which nothing is hidden."""
    other = Ranker(names, size.positions, policy, seed=1)
    play(other, 100)
    return other.rank


def play(ranker: Ranker, lists: int) -> None:
    """Make and learn lists."""
    for number in range(lists):
        clicks = [{"position": number % ranker.positions + 1}] if number % 3 == 0 else []
        ranker.learn(ranker.rank(), clicks)


def compare(
    what: str, plain: Callable[[], Any], other: Callable[[], Any], lists: int, target: Target | None
) -> dict[str, Any]:
    """CPU seconds of both, in turn."""
    plain()
    other()
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(lists):
        for call, kept in ((plain, seconds[0]), (other, seconds[1])):
            begun = time.process_time()
            call()
            kept.append(time.process_time() - begun)
    first, second = median(seconds[0]), median(seconds[1])
    ratio = second / max(first, 1e-9)
    cells = {"what": what, "baseline": "plain list", "plain": first, "cost": second, "ratio": ratio}
    return cells | verdict_cells(ratio, target, " x")


def judged(cells: dict[str, Any], target: Target | None, unit: float, name: str) -> dict[str, Any]:
    """A row that is judged by what it costs more than a plain list."""
    return cells | verdict_cells(unit * (cells["cost"] - cells["plain"]), target, name)


# Whole operations -----------------------------------------------------------------------------------------------------


def whole_table(effort: Effort) -> Table:
    """Build, load and estimate, each beside a loop over the items by hand."""
    size = QUICK_WHOLE_SIZE if effort.quick else WHOLE_SIZE
    names = [f"item {n}" for n in range(size.items)]
    rounds = 1 if effort.quick else 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ranker.npz"
        ranker = Ranker(names, size.positions, POLICY, seed=1)
        play(ranker, 20)
        ranker.save(path)
        operations: dict[str, Callable[[], Any]] = {
            "build": lambda: Ranker(names, size.positions, POLICY),
            "build with a prior": lambda: Ranker(names, size.positions, POLICY, prior_strength=1.0),
            "load": lambda: Ranker.load(path),
            "estimates()": ranker.estimates,
            "estimates(), printed": lambda: str(ranker.estimates()),
            "estimates().rows()": lambda: ranker.estimates().rows(),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ("by hand", *operations)}
        for _ in range(rounds + 1):  # the first compiles
            for name, call in {"by hand": lambda: labels_by_hand(names), **operations}.items():
                gc.collect()
                begun = time.process_time()
                call()
                seconds[name].append(time.process_time() - begun)
    hand = median(seconds["by hand"][1:])
    rows = [
        {"what": name, "size": str(size), "hand": hand, "cost": median(seconds[name][1:]),
         "ratio": median(seconds[name][1:]) / max(hand, 1e-9)}
        | verdict_cells(median(seconds[name][1:]), None if effort.quick else whole_target(name), " s")
        for name in operations
    ]  # fmt: skip
    columns: dict[str, Show] = {
        "what": str,
        "size": str,
        "hand": nanoseconds,
        "cost": nanoseconds,
        "ratio": times,
        "target": str,
        "verdict": str,
    }
    notes = [f"CPU time, median of {rounds}. hand: the labels of all items, one by one with hashlib, in a dictionary."]
    return Table("Ranker: very many items at once", columns, rows, notes)


def whole_target(name: str) -> Target | None:
    """The target of an operation, in seconds."""
    return Target(FIFTHS[name], at_most=True) if name in FIFTHS else None


def labels_by_hand(names: Sequence[str]) -> dict[str, int]:
    """The label of every item."""
    return {
        name: int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)
        for name in names
    }


# The curve ------------------------------------------------------------------------------------------------------------


def curve_table(effort: Effort) -> Table:
    """Time of a list and memory of an item, by the number of items."""
    lists = QUICK_CURVE_LISTS if effort.quick else CURVE_LISTS
    rows = [
        {"algorithm": policy, "what": what, "L": f"{items:,}"} | curve_cells(policy, items, spread, lists)
        for policy in POLICIES
        for what, spread in (("never seen", False), ("spread out", True))
        for items in (QUICK_CURVE if effort.quick else CURVE)
    ]
    columns: dict[str, Show] = {
        "algorithm": str,
        "what": str,
        "L": str,
        "first list": nanoseconds,
        "median": nanoseconds,
        "p99": nanoseconds,
        "rank": nanoseconds,
        "again": nanoseconds,
        "bytes per item": lambda value: f"{value:.0f}",
        "with names": lambda value: f"{value:.0f}",
        "target": str,
        "verdict": str,
    }
    notes = [
        f"CPU time of rank + learn, K = 10, over {lists} lists after the first; integers as ids.",
        "rank: without learn; again: another list at once, for which nothing has changed and memory is near.",
        "never seen: at first all items are equal, and a list looks at one number for each 128 of them.",
        "spread out: all items were examined, and differ.",
        f"bytes per item: what a ranker holds after {TRACED_LISTS} lists, in Python and NumPy, without the ids.",
        "with names: and with the table that finds items by their ids, which is made when an item is first named.",
    ]
    return Table("Ranker: from a thousand to ten million items", columns, rows, notes)


def curve_cells(policy: str, items: int, spread: bool, lists: int) -> dict[str, Any]:
    """The cells of one ranker."""
    play(Ranker(range(5000), 10, policy), 20)  # compiles
    gc.collect()
    ranker = KnownItems(range(items), 10, policy, seed=1)
    if spread:
        ranker.spread_out()
    begun = time.process_time()
    ranker.rank()
    first = time.process_time() - begun
    seconds = np.zeros(lists)
    for number in range(lists):
        begun = time.process_time()
        shown = ranker.rank()
        ranker.learn(shown, clicks=[{"position": number % 10 + 1}] if number % 3 == 0 else [])
        seconds[number] = time.process_time() - begun
    middle, late = float(np.median(seconds)), float(np.quantile(seconds, 0.99))
    parts = rank_cells(ranker, lists // 10)
    del ranker, shown
    cells = {"first list": first, "median": middle, "p99": late} | parts | memory_cells(policy, items, spread)
    if items != JUDGED:
        return cells | verdict_cells(0.0, None)
    return cells | {
        "target": f"<= {MEDIAN.number:g} us, p99 <= {P99.number:g} us",
        "verdict": "reached" if MEDIAN.reached(middle * 1e6) and P99.reached(late * 1e6) else "MISSED",
    }


def rank_cells(ranker: Ranker, lists: int) -> dict[str, float]:
    """Medians of a list after one was learned, and of another one at once."""
    seconds = np.zeros((lists, 2))
    for number in range(lists):
        for turn in range(2):
            begun = time.process_time()
            shown = ranker.rank()
            seconds[number, turn] = time.process_time() - begun
        ranker.learn(shown, clicks=[{"position": number % 10 + 1}] if number % 3 == 0 else [])
    return dict(zip(("rank", "again"), np.median(seconds, axis=0).tolist(), strict=True))


def memory_cells(policy: str, items: int, spread: bool) -> dict[str, float]:
    """Bytes of a ranker as in the curve, for each item."""
    ids = list(range(items))
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    ranker = KnownItems(ids, 10, policy, seed=1)
    if spread:
        ranker.spread_out()
    play(ranker, TRACED_LISTS)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - before
    ranker.rank(exclude=ids[:1])
    named = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return {"bytes per item": held / items, "with names": named / items}


class KnownItems(Ranker):
    """A ranker whose items can be given counts, as if many lists were learned."""

    def spread_out(self) -> None:
        """Give all items different counts."""
        belief, numbers = self._learner.belief, np.random.default_rng(1)
        belief.examined[:] = numbers.uniform(20.0, 400.0, len(self))
        belief.clicked[:] = numbers.uniform(0.0, 0.3, len(self)) * belief.examined
        belief.clock[0] = 1e6

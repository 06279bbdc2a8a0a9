"""Training in another thread gives way to requests, and nothing of it that takes long is done between them."""

import asyncio
import threading
import time
from pathlib import Path

import pytest
from running import at_work, check, front, items, run, shown, told

from toplist.service.errors import StoreUnavailable
from toplist.service.live import change_policy, pauses
from toplist.service.live.pauses import LOOK_EVERY, REST, SLICE, Pauses
from toplist.service.log import training
from toplist.service.log.replay import change_items
from toplist.service.wire import RankingChange


def rested(monkeypatch: pytest.MonkeyPatch, seconds: float, requests_every: float) -> float:
    """Seconds of rest in so many seconds of work, beside a request every so often."""
    now, rest, steps = 0.0, 0.0, 1e-4

    def sleep(more: float) -> None:
        nonlocal now, rest
        now, rest = now + more, rest + more

    monkeypatch.setattr(pauses, "perf_counter", lambda: now)
    monkeypatch.setattr(pauses, "sleep", sleep)
    pause = Pauses(lambda: None, lambda: int(now / requests_every))
    while now - rest < seconds:
        now += steps
        pause()
    return rest


def test_training_rests_most_of_the_time_while_requests_come_and_not_without(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = rested(monkeypatch, 1.0, 0.002)
    assert 0.75 * REST < busy < REST  # it looks after each step, and so works a little longer than a slice
    idle = rested(monkeypatch, 1.0, 1e9)
    assert idle <= LOOK_EVERY / SLICE * REST * SLICE
    assert rested(monkeypatch, 1.0, 0.2) < busy / 2  # a few requests a second


def test_training_ends_when_the_service_stops() -> None:
    stopping = threading.Event()
    pause = Pauses(lambda: training.raise_if(stopping.is_set), lambda: 0)
    for _ in range(10):
        pause()
    stopping.set()
    time.sleep(2 * SLICE)
    with pytest.raises(StoreUnavailable, match="stopping"):
        pause()


def test_training_pauses_in_each_event_and_new_items_are_checked_in_its_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "cascade-ucb1")
            for _ in range(20):
                await told(service, await shown(service), 1, final=True)
            loop, trained = asyncio.get_running_loop(), training.train_learners
            paused: list[threading.Thread] = []
            applied: list[threading.Thread] = []
            change, pause = change_items, Pauses.__call__

            def counted(self: Pauses) -> None:
                paused.append(threading.current_thread())
                pause(self)

            def applied_by(*given: object) -> None:
                applied.append(threading.current_thread())
                change(*given)  # type: ignore[arg-type]

            def then_items(*given: object) -> object:
                events = trained(*given)  # type: ignore[arg-type]
                asyncio.run_coroutine_threadsafe(service.items.put("front", items(300, first=100)), loop).result()
                return events

            monkeypatch.setattr(Pauses, "__call__", counted)
            monkeypatch.setattr(change_policy, "change_items", applied_by)
            monkeypatch.setattr(training, "train_learners", then_items)
            await service.rankings.change("front", RankingChange(policy="dcm-kl-ucb"))
            assert len(paused) >= 40 + 3  # after each event of a list, and each hundred items
            assert len(applied) == 3
            assert threading.main_thread() not in {*paused, *applied}
            await told(service, await shown(service), 1, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())

"""A store is checked while a service changes it: each learner by the log of one moment."""

from pathlib import Path
from typing import Any

import pytest
from running import at_work, check, front, rebuilt, run, shown, told

from toplist.core.problem import InvalidInput
from toplist.service.live import retention
from toplist.service.live.service import Service
from toplist.service.log import replay, verify
from toplist.service.wire import RankingChange

SEGMENTS = ("a", "b", "c")


async def played(service: Service, lists: int = 30) -> None:
    for segment in SEGMENTS:
        for number in range(lists):
            await told(service, await shown(service, segment=segment), 1 + number % 2, final=True)


def test_a_ranking_that_is_deleted_meanwhile_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PURGED_AT_ONCE", 20)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await played(service)
            learners = rebuilt(tmp_path / "db")
            assert next(learners).learned == 30
            await service.rankings.delete("front")
            for _ in range(6):  # by which its items are gone from the log, and lists of the others are there
                await service.retention.purge_deleted()
            assert list(learners) == []

    run(play())


def test_a_learner_that_cannot_be_rebuilt_is_told_and_the_others_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay_from_log = replay.replay_from_log

    def without_b(reader: Any, settings: Any, row: Any) -> replay.Replay:
        if row.segment == "b":
            raise InvalidInput("These items cannot be.")
        return replay_from_log(reader, settings, row)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await played(service, lists=3)
            monkeypatch.setattr(verify, "replay_from_log", without_b)
            assert [one.learned for one in rebuilt(tmp_path / "db")] == [3, 0, 3]
            (said,) = check(tmp_path / "db", await service.beliefs())
            assert said.startswith(
                "The learner of 'front' and segment 'b' differs from the log, from which it cannot be rebuilt: These"
            )

    run(play())


def test_a_ranking_that_gets_longer_lists_meanwhile_is_checked_as_it_is_then(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, positions=2)
            await played(service)
            learners = rebuilt(tmp_path / "db")
            assert next(learners).learned == 30
            await service.rankings.change("front", RankingChange(positions=4))
            await played(service, 5)
            assert [(one.segment, one.learned, one.differs_from) for one in learners] == [("b", 35, ()), ("c", 35, ())]

    run(play())

"""A store is checked while a service changes it: each learner by the log of one moment."""

from pathlib import Path
from typing import Any

import pytest
from desks import at_work, front, run, shown, told

from toplist.core.problem import InvalidInput
from toplist.service.live import retention
from toplist.service.live.service import Desk
from toplist.service.log import replay, verify
from toplist.service.log.verify import differences, rebuilt
from toplist.service.wire import RankingChange

KEYS = ("a", "b", "c")


async def played(desk: Desk, lists: int = 30) -> None:
    for key in KEYS:
        for number in range(lists):
            await told(desk, await shown(desk, key=key), 1 + number % 2, final=True)


def test_a_ranking_that_is_deleted_meanwhile_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PURGED_AT_ONCE", 20)

    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk)
            await played(desk)
            check = rebuilt(tmp_path / "db")
            assert next(check).learned == 30
            await desk.delete_ranking("front")
            for _ in range(6):  # by which its items are gone from the log, and lists of the others are there
                await desk.purge()
            assert list(check) == []

    run(play())


def test_a_learner_that_cannot_be_rebuilt_is_told_and_the_others_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beginning = replay.beginning

    def without_b(setting: Any, row: Any, *given: Any) -> replay.Replay:
        if row.key == "b":
            raise InvalidInput("These items cannot be.")
        return beginning(setting, row, *given)

    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk)
            await played(desk, lists=3)
            monkeypatch.setattr(verify, "beginning", without_b)
            assert [one.learned for one in rebuilt(tmp_path / "db")] == [3, 0, 3]
            (said,) = differences(tmp_path / "db", desk.states())
            assert said.startswith(
                "The learner of 'front' and key 'b' differs from the log, by which it cannot be: These"
            )

    run(play())


def test_a_ranking_that_gets_longer_lists_meanwhile_is_checked_as_it_is_then(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, positions=2)
            await played(desk)
            check = rebuilt(tmp_path / "db")
            assert next(check).learned == 30
            await desk.change_ranking("front", RankingChange(positions=4))
            await played(desk, 5)
            assert [(one.key, one.learned, one.differs) for one in check] == [("b", 35, ()), ("c", 35, ())]

    run(play())

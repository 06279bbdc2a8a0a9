"""One row that cannot be read or learned stops its own list or learner, and nothing else."""

from __future__ import annotations

import logging
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from running import (
    WINDOW,
    Clock,
    at_work,
    check,
    events,
    execute,
    front,
    learned,
    reader_of,
    run,
    shown,
    state_of,
    store_name,
    told,
)

from toplist.cli import Exit, main
from toplist.ranker import LoggedRanker
from toplist.service.errors import Conflict
from toplist.service.http.app import make_app
from toplist.service.live.service import Service
from toplist.service.log.verify import quarantined
from toplist.service.settings import Settings
from toplist.service.wire import RankingChange

DAMAGES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "list": ("UPDATE events SET body = ? WHERE kind = 'list' AND seq = ?", (b"{",)),
    "missing": ("DELETE FROM events WHERE kind = 'list' AND seq = ?", ()),
    "reports": ("UPDATE impressions SET report = ? WHERE seq = ?", (b"\xff",)),
}


def damage(path: Path, how: str, seq: int) -> None:
    query, values = DAMAGES[how]
    execute(path, query, *values, seq)


async def seq_of_last_list(service: Service) -> int:
    return [event.seq for event in await events(service) if event.kind == "list"][-1]


async def quarantined_in_metrics(service: Service) -> dict[str, float]:
    """What /metrics says."""
    app = make_app(service, Settings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        text = (await client.get("/metrics")).text
    found = re.findall(r'^toplist_quarantined_total\{what="(\w+)"\} (\S+)$', text, flags=re.MULTILINE)
    return {what: float(count) for what, count in found}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("snapshots", [False, True])
@pytest.mark.parametrize("by", ["window", "report"])
def test_a_list_that_cannot_be_read_is_closed_and_the_others_go_on(
    how: str, snapshots: bool, by: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            for _ in range(70 if snapshots else 3):
                await told(service, await shown(service), 1, final=True)
            bad = await shown(service)
            seq = await seq_of_last_list(service)
            good = [await shown(service), await shown(service, segment="other")]
        damage(tmp_path / "db", how, seq)
        async with at_work(tmp_path / "db", clock) as service:
            before = state_of(service)
            if by == "report":
                reply = await told(service, bad, 1)
                assert (reply.counted, reply.why) == (False, "dropped")
            clock.pass_(WINDOW + 1)
            assert await service.impressions.close_due() == (2 if by == "report" else 3)
            assert await service.impressions.close_due() == 0
            assert state_of(service) is before  # nobody else was refused
            for other in good:
                assert (await service.queries.impression(other.impression)).state == "learned"
            assert await learned(service) == (71 if snapshots else 4)
            assert service.quarantined == {"impression": 1}
            assert await quarantined_in_metrics(service) == {"impression": 1.0, "learner": 0.0}
            assert "quarantined: the list of event" in caplog.text
            (event,) = [one for one in await events(service) if one.kind == "quarantined"]
            assert event.impression == bad.impression
            for _ in range(3):
                await told(service, await shown(service), 2, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []
        async with at_work(tmp_path / "db", clock) as service:  # and it is not tried again
            await told(service, await shown(service), 1, final=True)
            assert await service.impressions.close_due() == 0
            assert service.quarantined == {}
            assert check(tmp_path / "db", await service.beliefs()) == []
        with closing(reader_of(tmp_path / "db")) as reader:
            (sentence,) = quarantined(reader)
        assert sentence.startswith(f"The list {bad.impression} is in quarantine")

    with caplog.at_level(logging.ERROR):
        run(play())


def test_a_list_that_fails_to_be_learned_is_left_out_and_rebuilds_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            made = [await shown(service) for _ in range(4)]
            await told(service, made[0], 1, final=True)
            settle = LoggedRanker.settle

            def failing(ranker: LoggedRanker, *given: Any) -> None:
                settle(ranker, *given)
                raise ZeroDivisionError("in the middle")

            monkeypatch.setattr(LoggedRanker, "settle", failing)
            before = state_of(service)
            assert (await told(service, made[1], 1, final=True)).why == "dropped"
            monkeypatch.undo()
            assert state_of(service) is before
            assert (await told(service, made[2], 2, final=True)).counted
            assert await learned(service) == 2
            assert check(tmp_path / "db", await service.beliefs()) == []
        assert check(tmp_path / "db") == []

    run(play())


def test_a_list_that_fails_to_be_made_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await told(service, await shown(service), 1, final=True)
            before = state_of(service)
            make = LoggedRanker.make

            def failing(ranker: LoggedRanker, *given: Any, **more: Any) -> Any:
                make(ranker, *given, **more)
                raise ZeroDivisionError("in the middle")

            monkeypatch.setattr(LoggedRanker, "make", failing)
            for segment in (None, "new"):
                with pytest.raises(Exception, match="failed"):
                    await shown(service, segment=segment)
            monkeypatch.undo()
            assert state_of(service) is before
            for segment in (None, "new"):
                await told(service, await shown(service, segment=segment), 1, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_learner_that_cannot_be_loaded_is_refused_alone_until_it_gets_another_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for segment in ("bad", "good"):
                for _ in range(40):
                    await told(service, await shown(service, segment=segment), 1, final=True)
        execute(tmp_path / "db", "UPDATE snapshots SET body = ? WHERE learner = (SELECT min(id) FROM learners)", b"\0")
        async with at_work(tmp_path / "db") as service:
            before = state_of(service)
            for _ in range(2):
                with pytest.raises(Conflict, match="cannot serve"):
                    await shown(service, segment="bad")
            await told(service, await shown(service, segment="good"), 1, final=True)
            assert state_of(service) is before
            assert service.quarantined == {"learner": 1}
            assert await quarantined_in_metrics(service) == {"impression": 0.0, "learner": 1.0}
            assert [event.kind for event in await events(service)].count("quarantined") == 1
            await service.rankings.change("front", RankingChange(policy="dcm-ts", train=False))
            await told(service, await shown(service, segment="bad"), 1, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())
    assert main(["store", "check", "--store", store_name(tmp_path / "db")]) == Exit.FINE
    assert "in quarantine since event" in capsys.readouterr().out


def test_an_unreadable_list_is_no_hindrance_to_training(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(5):
                await told(service, await shown(service), 1, final=True)
            seq = await seq_of_last_list(service)
        damage(tmp_path / "db", "list", seq)
        (sentence,) = check(tmp_path / "db")
        assert f"cannot learn the events {seq + 1} (" in sentence
        async with at_work(tmp_path / "db") as service:
            await service.rankings.change("front", RankingChange(policy="dcm-kl-ucb"))
            assert await learned(service) == 4

    run(play())


@pytest.mark.parametrize("how", ["retention", "deletion"])
def test_an_unreadable_list_is_no_hindrance_to_deleting_it(how: str, tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, retention=100.0)
            for number in range(5):
                await told(service, await shown(service, request_id=str(number)), 1, final=True)
            seq = await seq_of_last_list(service)
        damage(tmp_path / "db", "list", seq)
        async with at_work(tmp_path / "db", clock) as service:
            clock.pass_(1000)
            await shown(service, segment="later")
            if how == "retention":
                assert await service.retention.forget_old() == 5
                assert await learned(service) == 4
                assert check(tmp_path / "db", await service.beliefs()) == []
            else:
                await service.rankings.delete("front")
                while await service.retention.purge_deleted():
                    pass
                assert await service.queries.rankings() == []

    run(play())

"""The wall clock is set while the service runs, or while it does not: no window and no event is lost by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from running import BEGIN, check, events, front, open_store, reader_of, run, shown, told

from toplist.service.api_keys import ApiKeySetting
from toplist.service.clock import LONG_PAUSE, STEADY, BelievedClock
from toplist.service.errors import StoreUnavailable
from toplist.service.http.app import make_app
from toplist.service.http.auth import hash_api_key
from toplist.service.live import service as live_service
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.read_lane import ReadLane
from toplist.service.live.service import Service, SharedResources
from toplist.service.live.work_memory import WorkMemory
from toplist.service.settings import Settings

HOUR = 3_600_000
STEADY_SECONDS = STEADY / 10**9


class Machine:
    """The two clocks of a machine."""

    def __init__(self) -> None:
        self.wall, self.boot = BEGIN, 1_000_000

    def pass_(self, seconds: float) -> None:
        self.wall += round(seconds * 1000)
        self.boot += round(seconds * 1000)

    def clock(self) -> BelievedClock:
        return BelievedClock(lambda: self.wall * 10**6, lambda: self.boot * 10**6)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(live_service, "BelievedClock", made.clock)
    return made


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[Service]:
    """A service without a given clock, as `toplist serve` makes it."""
    service = Service(path, open_store=open_store.get())
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def states(service: Service, *replies: Any) -> list[str]:
    return [(await service.queries.impression(reply.impression)).state for reply in replies]


@pytest.mark.parametrize("by", [2 * HOUR, -2 * HOUR])
def test_a_step_closes_nothing_and_windows_keep_their_length(by: int, machine: Machine, tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path / "db") as service:
            await front(service, click_window=1000.0)
            before = [await shown(service), await shown(service)]
            machine.pass_(10)
            machine.wall += by
            assert await service.impressions.close_due() == 0
            assert not service.is_time_believed
            assert (await told(service, before[0], 1)).counted
            machine.pass_(10)
            during = await shown(service)
            machine.pass_(STEADY_SECONDS)
            assert await service.impressions.close_due() == 0  # believed again: windows have moved with the time
            assert service.is_time_believed
            with closing(reader_of(tmp_path / "db")) as reader:
                assert list(reader.find_damage()) == []  # digests moved with the windows
            assert (await events(service))[-1].at.startswith("2023-11-14T")
            machine.pass_(1000 - STEADY_SECONDS - 25)
            assert await service.impressions.close_due() == 0
            machine.pass_(10)
            assert await service.impressions.close_due() == 2
            assert await states(service, *before, during) == ["learned", "learned", "open"]
            machine.pass_(20)
            assert await service.impressions.close_due() == 1
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_windows_of_all_partitions_of_a_server_keep_their_length(machine: Machine, tmp_path: Path) -> None:
    """They share one clock; a partition that comes after the step has windows of the new time alone."""

    async def play() -> None:
        shared = SharedResources(machine.clock(), PolicyCompiler(), WorkMemory(1 << 30), ReadLane())
        shared.compiler.start()
        services = [Service(tmp_path / name, open_store=open_store.get(), shared=shared) for name in "abc"]
        *early, late = services
        try:
            for service in early:
                await service.start()
                await front(service, click_window=1000.0)
                await shown(service)
            machine.wall += 2 * HOUR
            for seconds in (1, STEADY_SECONDS):
                machine.pass_(seconds)
                assert [await service.impressions.close_due() for service in early] == [0, 0]
            await late.start()
            await front(late, click_window=1000.0)
            await shown(late)
            assert await late.impressions.close_due() == 0
            machine.pass_(1000 - STEADY_SECONDS - 2)
            assert [await service.impressions.close_due() for service in early] == [0, 0]
            machine.pass_(2)
            assert [await service.impressions.close_due() for service in services] == [1, 1, 0]
            machine.pass_(STEADY_SECONDS)
            assert await late.impressions.close_due() == 1
        finally:
            for service in services:
                await service.stop()
            shared.compiler.stop()

    run(play())


def test_a_step_that_is_taken_back_changes_nothing(machine: Machine, tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path / "db") as service:
            await front(service, retention=1000.0)
            await told(service, await shown(service), 1, final=True)
            reply = await shown(service)
            machine.pass_(1)
            machine.wall += 48 * HOUR
            for _ in range(60):
                machine.pass_(0.5)
                assert await service.impressions.close_due() == 0
                assert await service.retention.forget_old() == 0
            machine.wall -= 48 * HOUR
            await told(service, reply, 1)
            machine.pass_(STEADY_SECONDS + 1)
            assert await service.impressions.close_due() == 1
            assert service.is_time_believed
            assert await service.retention.forget_old() == 0
            assert [event.kind for event in await events(service)].count("learned") == 2

    run(play())


def test_corrections_by_ntp_are_followed_at_once() -> None:
    machine = Machine()
    clock = machine.clock()
    for _ in range(100):
        machine.wall += 1000
        machine.boot += 900  # ten seconds in the end
        assert clock() == machine.wall
        assert clock.is_believed


def test_a_failed_commit_is_tried_again_soon_even_if_the_clock_goes_back(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with serving(tmp_path / "db") as service:
            await front(service)

            def broken(*_: Any) -> None:
                raise StoreUnavailable("no such disk")

            monkeypatch.setattr(service.transactions.store, "write", broken)
            with pytest.raises(StoreUnavailable):
                await shown(service)
            monkeypatch.undo()
            machine.wall -= 600_000
            machine.boot += 300
            assert service.is_ready
            monkeypatch.setattr(live_service, "BelievedClock", machine.clock)
            await shown(service)

    run(play())


@pytest.mark.parametrize("by", [-2 * HOUR, 48 * HOUR])
def test_a_start_with_a_wrong_clock_waits_until_it_is_steady(by: int, machine: Machine, tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path / "db") as service:
            await front(service, retention=1000.0, click_window=1000.0)
            await told(service, await shown(service), 1, final=True)
            old = await shown(service)
        machine.pass_(5)
        machine.wall += by
        async with serving(tmp_path / "db") as service:
            assert not service.is_time_believed
            assert await service.impressions.close_due() == 0
            new = await shown(service)
            machine.pass_(60)
            machine.wall -= by  # NTP has answered
            assert await service.impressions.close_due() == 0
            assert await service.retention.forget_old() == 0
            assert (await told(service, old, 1)).counted
            machine.pass_(STEADY_SECONDS)
            assert await service.impressions.close_due() == 0
            assert service.is_time_believed
            assert await service.retention.forget_old() == 0
            machine.pass_(1000 - STEADY_SECONDS - 60 + 1)
            assert await service.impressions.close_due() == 2
            assert await states(service, old, new) == ["learned", "learned"]
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_start_soon_after_the_last_event_closes_at_once(machine: Machine, tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path / "db") as service:
            await front(service)
            await shown(service)
        machine.pass_(LONG_PAUSE / 10**9 - 1)
        async with serving(tmp_path / "db") as service:
            assert service.is_time_believed
            assert await service.impressions.close_due() == 1

    run(play())


def test_an_event_in_the_future_does_not_freeze_the_time_of_the_log(machine: Machine, tmp_path: Path) -> None:
    async def play() -> None:
        machine.wall += 48 * HOUR
        async with serving(tmp_path / "db") as service:
            await front(service, retention=1000.0)
            await told(service, await shown(service), 1, final=True)
        machine.wall -= 48 * HOUR
        async with serving(tmp_path / "db") as service:
            machine.pass_(STEADY_SECONDS)
            assert await service.impressions.close_due() == 0
            await told(service, await shown(service), 1, final=True)
            times = [event.at for event in await events(service)]
            assert times[-1] < times[0]
            machine.pass_(10)
            await told(service, await shown(service), 1, final=True)
            assert times[-1] < (await events(service))[-1].at < times[0]
            machine.pass_(2000)
            await shown(service)
            assert await service.impressions.close_due() == 0
            assert await service.retention.forget_old() == 0  # what comes after the future waits for it
            machine.pass_(48 * 3600)
            await shown(service)
            assert await service.impressions.close_due() == 1
            assert await service.retention.forget_old() == 3
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


async def status_of_key(service: Service, expires: int) -> int:
    """What a key gets that expires at this time."""
    expiry = datetime.fromtimestamp(expires / 1000, UTC)
    key = ApiKeySetting(name="page", scope="read", sha256=hash_api_key("secret"), expires=expiry)
    transport = httpx.ASGITransport(make_app(service, Settings(keys=[key])))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return (await client.get("/v1/rankings", headers={"authorization": "Bearer secret"})).status_code


def test_a_step_expires_no_key_and_revives_none(machine: Machine, tmp_path: Path) -> None:
    expires = BEGIN + HOUR

    async def play() -> None:
        async with serving(tmp_path / "db") as service:
            await front(service)
            machine.wall += 2 * HOUR
            assert await status_of_key(service, expires) == 200
            machine.wall -= 2 * HOUR
            machine.pass_(3601)
            assert await status_of_key(service, expires) == 401
            machine.wall -= 2 * HOUR
            assert await status_of_key(service, expires) == 401
            machine.pass_(STEADY_SECONDS)  # believed again: the clock has said so for a while
            assert await service.impressions.close_due() == 0
            assert await status_of_key(service, expires) == 200

    run(play())


@pytest.mark.parametrize("by", [48 * HOUR, -48 * HOUR])
def test_no_key_is_revived_by_a_start(by: int, machine: Machine, tmp_path: Path) -> None:
    """Long after the last event, or with a clock that was set back, when the time of the log goes on."""
    expires = BEGIN + (HOUR if by > 0 else -HOUR)

    async def play() -> None:
        async with serving(tmp_path / "db") as service:
            await front(service)
        machine.wall += by
        async with serving(tmp_path / "db") as service:
            assert not service.is_time_believed
            assert await status_of_key(service, expires) == 401
            machine.pass_(STEADY_SECONDS)
            await service.impressions.close_due()
            assert await status_of_key(service, expires) == (401 if by > 0 else 200)

    run(play())

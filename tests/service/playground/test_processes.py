"""Simulations in their processes: they play, wait, are cancelled, run out of time or memory, and crash."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import pytest

import toplist
from toplist.logs import FittedModel
from toplist.logs.models import MODELS
from toplist.service.errors import NotFound, TooManyReads
from toplist.service.playground.plan import MODEL_FILE, plan_of
from toplist.service.playground.playground import Playground, QueuedSimulation, Told
from toplist.service.playground_settings import PlaygroundSettings
from toplist.service.wire.playground import Simulation

T = TypeVar("T")
SHORT: dict[str, Any] = {"policies": ["cascade-ucb1", "random"], "items": 6, "positions": 2, "steps": 120, "runs": 3}
LONG: dict[str, Any] = {"policies": ["cascade-ucb1"], "steps": 1_000_000, "runs": 100}
SETTINGS = PlaygroundSettings(seconds=600.0)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def begin(playground: Playground, settings: dict[str, Any] = SHORT, model: str | None = None) -> QueuedSimulation:
    return playground.begin(plan_of(Simulation(**settings)), model)


@asynccontextmanager
async def opened(settings: PlaygroundSettings = SETTINGS) -> AsyncIterator[Playground]:
    """A playground, whose processes have ended at the end."""
    playground = Playground(settings)
    try:
        yield playground
    finally:
        await playground.close()


def played(settings: dict[str, Any] = SHORT, model: str | None = None) -> list[Told]:
    """All that a simulation tells."""

    async def work() -> list[Told]:
        async with opened() as playground:
            return await all_of(begin(playground, settings, model))

    return run(work())


async def all_of(simulation: QueuedSimulation) -> list[Told]:
    return [told async for told in simulation.events()]


async def until_it_has_a_process(simulation: QueuedSimulation) -> asyncio.Task[list[Told]]:
    """Let it begin; its events are collected meanwhile."""
    told = asyncio.create_task(all_of(simulation))
    while simulation.pid is None:
        await asyncio.sleep(0.01)
    return told


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be collected does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


async def until_gone(pid: int) -> None:
    while is_alive(pid):
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("change", ["never", "once", "drift"])
def test_the_python_of_a_simulation_gives_the_same_numbers(change: str) -> None:
    told = played(SHORT | {"change": change, "every": 50})
    assert [each["event"] for each in told[:3]] == ["started", "policy", "policy"]
    assert told[-1] == {"event": "done"}
    check_python(told)


def check_python(told: list[Told]) -> None:
    """Run the Python of a simulation, and compare its result with the points."""
    made: dict[str, Any] = {}
    exec(told[0]["python"], made)
    result: toplist.Result = made["result"]
    points = [each for each in told if each["event"] == "point"]
    assert [each["step"] for each in points] == result.checkpoints.tolist()
    for policy in result.policies:
        means = np.array([each["means"][policy] for each in points])
        assert means[:, 0].tolist() == result.mean(policy).tolist()
        assert means[:, 1].tolist() == result.mean(policy, "clicks").tolist()
        errors = result.regret[policy].std(axis=0, ddof=1) / np.sqrt(result.runs)
        assert np.allclose([each["errors"][policy][0] for each in points], errors, rtol=1e-12, atol=0.0)


def test_a_fitted_model_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS["dcm"]._replace(positions=2)  # type: ignore[attr-defined]
    own = {"shoes": {"a": [0.6], "b": [0.4], "c": [0.2], "d": [0.1]}}
    FittedModel.from_values(model, own, {"shoes": [0.5] * len(model.coins().shared)}).save(tmp_path / MODEL_FILE)
    settings = {"policies": ["cascade-ucb1"], "positions": 2, "steps": 100, "runs": 2, "query": "shoes"}
    settings["model"] = msgspec.Raw(b"{}")
    told = played(settings, (tmp_path / MODEL_FILE).read_text())
    assert told[-1] == {"event": "done"}, told
    monkeypatch.chdir(tmp_path)
    check_python(told)
    for broken, message in (("{}", "The format of the model"), ("[", "is truncated or not JSON")):
        told = played(settings, broken)
        assert told[-1]["event"] == "refused"
        assert message in told[-1]["detail"]


def test_more_than_may_run_wait_in_turn_and_more_than_may_wait_are_refused() -> None:
    async def work() -> None:
        async with opened(PlaygroundSettings(at_once=1, waiting=1, seconds=600.0)) as playground:
            first = begin(playground, LONG)
            heard = await until_it_has_a_process(first)
            second = begin(playground)
            with pytest.raises(TooManyReads, match="1 simulations run and 1 wait, which are the most"):
                begin(playground)
            waits = second.events()
            assert await anext(waits) == {"event": "waiting", "ahead": 1}
            assert first.pid is not None
            first.end()
            await until_gone(first.pid)
            await heard
            assert (await anext(waits))["event"] == "started"
            assert [each async for each in waits][-1] == {"event": "done"}
            assert [each["event"] for each in await all_of(begin(playground))][-1] == "done"  # there is room again

    run(work())


def test_one_that_waits_can_be_cancelled() -> None:
    async def work() -> None:
        async with opened(PlaygroundSettings(at_once=1, waiting=1, seconds=600.0)) as playground:
            heard = await until_it_has_a_process(begin(playground, LONG))
            waiting = begin(playground)
            waiting.end()
            assert await all_of(waiting) == []
            assert begin(playground).pid is None  # its place is free
            playground.stop()
            await heard

    run(work())


def test_stopping_ends_every_process_and_takes_no_other() -> None:
    async def work() -> None:
        async with opened(PlaygroundSettings(at_once=2, seconds=600.0)) as playground:
            simulations = [begin(playground, LONG), begin(playground, LONG)]
            heard = [await until_it_has_a_process(each) for each in simulations]
            playground.stop()
            for each in simulations:
                assert each.pid is not None
                await until_gone(each.pid)
            await asyncio.gather(*heard)
            with pytest.raises(TooManyReads):
                begin(playground)

    run(work())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (PlaygroundSettings(seconds=0.3), "took more than 0.3 seconds; play fewer lists"),
        (PlaygroundSettings(memory=20), "took more than 20 megabytes; have fewer items"),
    ],
)
def test_limits_of_time_and_memory_are_told(settings: PlaygroundSettings, message: str) -> None:
    async def work() -> None:
        async with opened(settings) as playground:
            simulation = begin(playground, LONG)
            told = await all_of(simulation)
            assert told[-1]["event"] == "failed"
            assert message in told[-1]["detail"]
            assert simulation.pid is not None
            await until_gone(simulation.pid)

    run(work())


def test_the_memory_of_the_service_is_not_that_of_a_simulation() -> None:
    settings = PlaygroundSettings(memory=800)
    held = np.ones(settings.memory << 17)  # Linux counts it for every process that this one starts

    async def work() -> list[Told]:
        async with opened(settings) as playground:
            return await all_of(begin(playground))

    assert run(work())[-1] == {"event": "done"}
    assert held.nbytes == settings.memory << 20


def test_a_crash_is_told() -> None:
    async def work() -> None:
        async with opened() as playground:
            simulation = begin(playground, LONG)
            heard = await until_it_has_a_process(simulation)
            assert simulation.pid is not None
            os.kill(simulation.pid, signal.SIGSEGV)
            told = await heard
            assert told[-1] == {
                "event": "failed",
                "detail": f"The process of the simulation ended with exit code {-signal.SIGSEGV}; the service goes on.",
            }

    run(work())


def test_it_can_be_turned_off() -> None:
    with pytest.raises(NotFound, match="turn it on with the setting playground"):
        begin(Playground(PlaygroundSettings(enabled=False)))

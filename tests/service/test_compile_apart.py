"""Policies are compiled in a process of their own: the service only loads what is on the disk."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import at_work, front, run, shown

from toplist import Prior
from toplist.core.compiling import NotCached, cache_folder
from toplist.ranker.learner import MACHINE_CODE, sample_all_compiled
from toplist.service.errors import StoreUnavailable
from toplist.service.live.compile_apart import CompilerProcess
from toplist.service.log import policy_code, training
from toplist.service.log.events import RankingEvent
from toplist.service.log.replay import new_ranker
from toplist.service.log.settings import ItemState, ItemStates, LearnerSettings
from toplist.service.wire import RankingSpec

SETTINGS = LearnerSettings.of(RankingEvent(RankingSpec(name="front", positions=2, policy="cascade-ucb1")), 7)
COMPILES = """
import sys
from toplist.core.compiling import NotCached, only_cached
from toplist.service.live.compile_apart import CompilerProcess
from toplist.service.log import training
from toplist.service.log.events import RankingEvent
from toplist.service.log.settings import LearnerSettings
from toplist.service.wire import RankingSpec
from numba.core import event

settings = LearnerSettings.of(RankingEvent(RankingSpec(name="front", positions=2, policy="random")), 7)
with event.install_recorder("numba:compile") as here:
    CompilerProcess().compile(settings)
print(len(here.buffer))
"""


@pytest.mark.slow
def test_nothing_is_compiled_in_the_process_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    done = subprocess.run([sys.executable, "-c", COMPILES], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert any(tmp_path.rglob("*"))


def fake(monkeypatch: pytest.MonkeyPatch, after: Any) -> list[str]:
    """Machine code that is not on the disk until `after` says so; what happened."""
    seen: list[str] = []

    def compile_policy(_: LearnerSettings) -> None:
        if not seen or seen[-1] != "child":
            seen.append("asked")
            raise NotCached
        seen.append("loaded")

    def run_child(process: CompilerProcess, _: bytes) -> None:
        seen.append("child")
        after(process)

    monkeypatch.setattr(training, "compile_policy", compile_policy)
    monkeypatch.setattr(CompilerProcess, "run", run_child)
    return seen


def test_what_is_not_on_the_disk_is_compiled_by_another_process_and_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = fake(monkeypatch, lambda _: None)
    CompilerProcess().compile(SETTINGS)
    assert seen == ["asked", "child", "loaded"]


def test_a_stop_ends_the_process_and_nothing_is_compiled_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = fake(monkeypatch, lambda process: process.end())
    with pytest.raises(StoreUnavailable, match="stops before the policy is compiled"):
        CompilerProcess().compile(SETTINGS)
    assert seen == ["asked", "child"]


def test_a_running_process_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    process = CompilerProcess()
    popen = subprocess.Popen

    def endless(_: list[str], **more: Any) -> Any:
        started = popen([sys.executable, "-c", "import time; time.sleep(600)"], **more)
        process.end()
        process.process = started
        return started

    monkeypatch.setattr(subprocess, "Popen", endless)
    process.run(b"{}")
    assert process.process is None


def test_without_a_folder_for_machine_code_the_service_compiles_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that leaves nothing on the disk: the list comes all the same."""
    monkeypatch.setattr(CompilerProcess, "run", lambda *_: None)
    inner = training.compile_policy
    asked: list[bool] = []

    def first_missing(settings: LearnerSettings) -> None:
        asked.append(True)
        if len(asked) == 1:
            raise NotCached
        inner(settings)

    monkeypatch.setattr(training, "compile_policy", first_missing)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            assert len((await shown(service)).items) > 0

    run(play())
    assert len(asked) >= 2


def test_priors_of_many_items_wait_for_no_compiler() -> None:
    """Of so many items, they are set by machine code, which is compiled with the policy."""
    training.compile_policy(SETTINGS)
    loop: Any = sample_all_compiled
    compiled = set(loop.overloads)
    row = np.zeros(0)
    items: ItemStates = {n: ItemState(n, row, False, Prior(0.1, 5.0)) for n in range(MACHINE_CODE)}
    ranker = new_ranker(SETTINGS, "new", items)
    assert set(loop.overloads) == compiled
    assert ranker.estimates()[7]["mean"] == pytest.approx(0.1)


def test_the_code_of_a_policy_is_found_out_where_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprints: list[str] = []

    def fingerprint(*_: Any, **__: Any) -> str:
        fingerprints.append("here")
        return "f"

    monkeypatch.setattr(policy_code, "fingerprint", fingerprint)
    policy_code.policy_code.cache_clear()
    training.compile_policy(SETTINGS)
    assert fingerprints == ["here"]
    SETTINGS.in_force_from(9)  # on the event loop, which a fingerprint would hold for 17 ms
    assert fingerprints == ["here"]
    policy_code.policy_code.cache_clear()

"""Compiling beside requests."""

import sys
from pathlib import Path

import pytest
from running import at_work, front, run

from toplist.service.live.compiler import SWITCH_EVERY
from toplist.service.log import training
from toplist.service.log.settings import LearnerSettings


def test_the_compiler_gives_way_to_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, while_compiling = sys.getswitchinterval(), []

    def compile_policy(_: LearnerSettings) -> None:
        while_compiling.append(sys.getswitchinterval())

    monkeypatch.setattr(training, "compile_policy", compile_policy)

    async def work() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            assert while_compiling == [pytest.approx(SWITCH_EVERY)]
            assert sys.getswitchinterval() == usual

    run(work())

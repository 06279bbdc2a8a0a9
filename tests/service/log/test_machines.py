"""Snapshots of machines that round otherwise: what cannot be compared is said, and is no fault."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import at_work, front, rebuilt, run, shown, told

from toplist.cli import Exit, main
from toplist.ranker.snapshot import State
from toplist.service.live import learners
from toplist.service.log import machines

OF_SNAPSHOT = ("its snapshot", "what the service would load")


@pytest.fixture(autouse=True)
def own_machine() -> Any:
    """What is known of the machine is forgotten after each test."""
    yield
    machines.this_machine.cache_clear()


def work_on(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    """From now on, this machine is another one."""
    monkeypatch.setattr(machines, "arithmetic", lambda: (machine,))
    machines.this_machine.cache_clear()


def serve(path: Path, lists: int, *, rounds_up: bool = False, is_new: bool = False) -> None:
    """Serve lists; a machine that rounds up keeps its belief with another last bit."""
    packed = State.packed

    def rounded_up(state: State) -> bytes:
        arrays = {
            name: np.nextafter(array, np.inf) if name.startswith("belief") and array.dtype.kind == "f" else array
            for name, array in state.arrays.items()
        }
        return packed(State(state.header, arrays))

    async def play() -> None:
        async with at_work(path) as service:
            if is_new:
                await front(service)
            for number in range(lists):
                await told(service, await shown(service), 1 + number % 2, final=True)

    with pytest.MonkeyPatch.context() as patch:
        if rounds_up:
            patch.setattr(State, "packed", rounded_up)
        run(play())


def check(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    return main(["store", "check", "--store", str(path)]), capsys.readouterr().out


def test_a_snapshot_of_another_machine_is_not_comparable_if_its_bytes_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "db"
    work_on(monkeypatch, "first")
    serve(path, 40, rounds_up=True, is_new=True)
    (found,) = rebuilt(path)
    assert (found.differs_from, found.incomparable) == (OF_SNAPSHOT, ())  # this machine made it, and it is wrong
    code, said = check(path, capsys)
    assert code == Exit.BROKEN
    work_on(monkeypatch, "second")
    (found,) = rebuilt(path)
    assert (found.differs_from, found.incomparable) == ((), OF_SNAPSHOT)
    code, said = check(path, capsys)
    assert code == Exit.FINE
    assert "None is not comparable on this machine with its snapshot and what the service would load" in said
    assert "what is kept differs in 0. 1 learner could not be compared on this machine.\n" in said
    serve(path, 40)  # from the belief of the first one
    (found,) = rebuilt(path)
    assert (found.differs_from, found.incomparable) == ((), OF_SNAPSHOT)


def test_a_snapshot_of_another_machine_with_the_same_bytes_is_no_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_on(monkeypatch, "first")
    serve(tmp_path / "db", 40, is_new=True)
    work_on(monkeypatch, "second")
    (found,) = rebuilt(tmp_path / "db")
    assert (found.learned, found.differs_from, found.incomparable) == (40, (), ())


def test_a_snapshot_of_unknown_machines_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores of before have no fingerprints; what goes on from them has none either."""
    with monkeypatch.context() as patch:
        patch.setattr(learners, "with_machines", lambda belief, _: belief)
        serve(tmp_path / "db", 40, rounds_up=True, is_new=True)
    work_on(monkeypatch, "second")
    for lists in (0, 40):
        serve(tmp_path / "db", lists)
        (found,) = rebuilt(tmp_path / "db")
        assert (found.differs_from, found.incomparable) == (OF_SNAPSHOT, ())

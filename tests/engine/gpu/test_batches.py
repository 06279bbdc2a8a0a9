"""Batches of runs as a GPU plays them, in plain Python: the same numbers as the engine's, bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue_problems import USERS, policies, world_for
from host_device import HostDevice, install_stand_ins

import toplist
from toplist import InvalidInput
from toplist.clicks import CCM, DBN, PBM, UBM, Cascade, ChangingDCM, Mixture
from toplist.engine import batch_scheduler
from toplist.engine.gpu import cuda_device
from toplist.engine.gpu.batch import BatchLayout
from toplist.engine.player import Player, RunSetup
from toplist.engine.simulate import simulate_with_watch
from toplist.engine.starts import Forced, NeverSeenFirst, OneSample
from toplist.support.progress import Progress
from toplist.worlds import Contextual

Install = Callable[..., list[HostDevice]]
JUMPING = "jumping(attraction=[0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1], positions=3, up=15, down=10)"


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Let engine="gpu" play on stand-ins with so many bytes of memory each, a few steps in the first launch."""
    monkeypatch.setattr(batch_scheduler, "FIRST_CHUNK", 16)
    return lambda *memory: install_stand_ins(monkeypatch, [HostDevice(each) for each in memory])


def check_same(install: Install, policy: Any, world: Any, users: Any = USERS, steps: int = 70, **more: Any) -> None:
    install(1 << 30)
    played = [
        toplist.simulate(policy, world, users, steps=steps, runs=3, seed=2, checkpoints=7, **more, **where)
        for where in ({"compiled": False}, {"engine": "gpu"})
    ]
    for label in played[0].policies:
        assert played[0].regret[label].tobytes() == played[1].regret[label].tobytes()
        assert played[0].clicks[label].tobytes() == played[1].clicks[label].tobytes()
    assert played[0].detections == played[1].detections
    assert played[0].breakpoints == played[1].breakpoints


@pytest.mark.parametrize("policy", policies())
def test_every_policy_plays_the_same_lists(policy: str, install: Install) -> None:
    check_same(install, policy, world_for(policy, items=9, positions=3))


@pytest.mark.parametrize(
    ("world", "users"),
    [
        ("drifting(attraction=[0.1, 0.2, 0.3, 0.5, 0.6, 0.8], positions=3, speed=0.05)", DBN(0.5, 0.9)),
        ("coming-and-going(attraction=[0.1, 0.2, 0.3, 0.5, 0.8], positions=3, stay=20, away=10)", PBM([0.9, 0.5, 0.2])),
        (Contextual(8, 3, 4), ChangingDCM()),
        (Contextual(8, 3, 4, fresh=False), ChangingDCM()),
        ("b-lb(items=8, positions=3)", Mixture(Cascade(), DBN(0.5, 0.9))),
        ("b-lb(items=8, positions=3)", Mixture(UBM(0.6), CCM(0.8))),
        (JUMPING, UBM([[0.2, 0.3, 0.9], [0.8, 0.4, 0.7], [0.5, 0.9, 0.6]])),
        (JUMPING, CCM()),
    ],
)
def test_every_run_has_its_own_world_and_users(world: Any, users: Any, install: Install) -> None:
    check_same(install, ["cascade-ucb1", "best", "dcm-ts"], world, users)


@pytest.mark.parametrize(("world", "shared"), [(world_for("cascade-lsb"), True), (Contextual(8, 3, 4), False)])
def test_features_that_never_change_are_laid_out_once_for_all_runs(world: Any, shared: bool) -> None:
    setup = RunSetup.of(toplist.make("cascade-lsb"), world, USERS, OneSample(), 100)
    player = Player(setup, 0, np.array([100]), compiled=False)
    own = BatchLayout(player).places
    layout = player.cache.scoring.layout
    assert (id(layout.columns) in own) == (id(layout.edition) in own) == (not shared)
    assert id(layout.width_of) in own
    assert (layout.edition[0] >= 0) == shared


@pytest.mark.parametrize("start", [Forced(), NeverSeenFirst()])
@pytest.mark.parametrize("policy", ["cascade-kl-ucb", "ranked-ucb1", "cascade-ts"])
def test_other_starts(policy: str, start: Any, install: Install) -> None:
    check_same(install, policy, "b-lb(items=8, positions=3)", start=start)


def test_changes_are_detected_in_the_same_steps(install: Install) -> None:
    rows = "[[0.9, 0.9, 0.05, 0.05], [0.05, 0.05, 0.9, 0.9]]"
    world = f"piecewise(attraction={rows}, positions=2, breakpoints=[150])"
    check_same(install, "cascade-kl-ucb-resetting", world, "cascade", steps=400)


STEPS = 100  # of several launches


def simulate(**more: Any) -> toplist.Result:
    arguments: dict[str, Any] = {"steps": STEPS, "runs": 70, "seed": 4, "checkpoints": 3} | more
    return toplist.simulate(["cascade-ucb1", "random"], "b-lb(items=6, positions=2)", "cascade", **arguments)


def test_runs_go_in_batches_that_fit_and_in_shares_for_each_gpu(install: Install) -> None:
    devices = install(40_000, 50_000)
    assert simulate(engine="gpu").regret["cascade-ucb1"].tobytes() == simulate().regret["cascade-ucb1"].tobytes()
    for device in devices:
        assert len(device.batches) > 2  # there is more than one round
        assert device.batches[::2] == device.batches[1::2]  # as many runs of each policy
    assert sum(sum(device.batches) for device in devices) == 2 * 70


def test_batches_give_their_memory_back(install: Install) -> None:
    (device,) = install(70_000)
    assert simulate(engine="gpu", steps=20).clicks["random"].tobytes() == simulate(steps=20).clicks["random"].tobytes()
    assert device.batches == [32, 32, 32, 32, 6, 6]
    with device.context():
        assert device.free_bytes(0) == 70_000


def test_the_memory_of_each_gpu_is_its_own(install: Install) -> None:
    """The stand-in fails if it is asked while another GPU, or none, is the current one."""
    full, small, large = install(1000, 50_000, 1 << 30)
    simulate(engine="gpu", steps=20)
    assert (full.prepared, small.batches, large.batches) == ([], [32, 32], [38, 38])


def test_kernels_are_made_once_for_all_rounds(install: Install) -> None:
    devices = install(40_000, 50_000)
    simulate(engine="gpu")
    for device in devices:
        assert device.prepared == [max(device.batches)] * 2  # of both policies


def test_a_run_that_does_not_fit_is_refused(install: Install) -> None:
    install(1000)
    with pytest.raises(InvalidInput, match=r"take 35\.1 kB, but the GPU has 1\.0 kB free; end what else uses the"):
        simulate(engine="gpu")


def test_a_gpu_without_memory_is_told_with_what_was_asked(install: Install, tmp_path: Path) -> None:
    """Though there was room when the batches were planned."""
    (device,) = install(1 << 30)
    device.fails_at = 5
    asked = r"70 runs of (cascade-ucb1|random) take \d\d\.\d kB, and \d+\.\d \wB are free .*; end what else uses"
    with pytest.raises(MemoryError, match=asked):
        simulate(engine="gpu", resume=tmp_path / "kept.npz")
    device.fails_at, device.memory, free = -1, 40_000, device.free_bytes
    device.free_bytes = lambda enough: max(enough, 1 << 30)  # type: ignore[method-assign]
    with pytest.raises(MemoryError, match="70 runs of cascade-ucb1 take"):
        simulate(engine="gpu")
    device.memory, device.free_bytes = 1 << 30, free  # type: ignore[method-assign]
    done: list[Progress] = []
    found = simulate(engine="gpu", resume=tmp_path / "kept.npz", progress=done.append)
    assert found.regret["random"].tobytes() == simulate().regret["random"].tobytes()
    assert done[0].earlier > 0


@pytest.mark.parametrize("stops_at", [0, 70])
def test_runs_that_a_gpu_did_not_finish_are_refused(
    install: Install, stops_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LAUNCH_SECONDS", "SNAPSHOT_SECONDS"):  # else a slow machine plays fewer steps at once, and keeps them
        monkeypatch.setattr(batch_scheduler, name, 600.0)
    (device,) = install(1 << 30)
    device.stops_at = stops_at
    told = rf"played 70 of 70 runs of (cascade-ucb1|random) only until step {stops_at} of {STEPS}"
    with pytest.raises(RuntimeError, match=told):
        simulate(engine="gpu", resume=tmp_path / "kept.npz")
    before: list[Progress] = []
    device.stops_at = 1 << 60
    simulate(engine="gpu", resume=tmp_path / "kept.npz", progress=before.append)
    assert before[0].earlier == 0


def test_progress_counts_all_steps(install: Install) -> None:
    install(1 << 30)
    seen: list[Progress] = []
    simulate(engine="gpu", progress=seen.append)
    assert seen[0].done == 0
    assert seen[-1].done == seen[-1].total == 2 * 70 * STEPS
    assert [each.done for each in seen] == sorted(each.done for each in seen)


def test_an_interrupted_simulation_continues_on_either_engine(install: Install, tmp_path: Path) -> None:
    devices, file = install(1 << 30), tmp_path / "kept.npz"
    launch = devices[0].launch

    def interrupt(*arguments: Any) -> Any:
        if len(devices[0].launches) == 3:
            raise KeyboardInterrupt
        return launch(*arguments)

    devices[0].launch = interrupt  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        simulate(engine="gpu", resume=file)
    expected = simulate()
    devices[0].launch = launch  # type: ignore[method-assign]
    copy = tmp_path / "copy.npz"
    copy.write_bytes(file.read_bytes())
    before: list[Progress] = []
    for where in ({"engine": "gpu", "resume": file}, {"resume": copy}):
        result = simulate(**where, progress=before.append)
        assert result.regret["cascade-ucb1"].tobytes() == expected.regret["cascade-ucb1"].tobytes()
        assert result.clicks["random"].tobytes() == expected.clicks["random"].tobytes()
    assert before[0].earlier > 0
    more = simulate(engine="gpu", resume=file, runs=75)
    assert more.regret["random"].tobytes() == simulate(runs=75).regret["random"].tobytes()


def shown_first(player: Player) -> float:
    return float(player.run.slate.items[0]) + player.step / 1000.0


def test_watched_values_are_recorded_at_checkpoints(install: Install) -> None:
    install(1 << 30)
    found = [
        simulate_with_watch("cascade-ucb1", "b-lb(items=6, positions=2)", None, 200, 3, checkpoints=4,
                            watch=shown_first, engine=engine).watched["cascade-ucb1"]
        for engine in ("cpu", "gpu")
    ]  # fmt: skip
    assert found[0].tobytes() == found[1].tobytes()
    assert found[0].shape == (3, 4)


def test_unknown_engines_and_plain_python_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'cpu' or 'gpu'"):
        simulate(engine="tpu")
    with pytest.raises(InvalidInput, match="a GPU plays machine code only"):
        simulate(engine="gpu", compiled=False)


def test_without_a_gpu_the_error_says_what_is_missing() -> None:
    with pytest.raises(InvalidInput, match="needs an NVIDIA GPU and its driver, but none was found"):
        simulate(engine="gpu")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise ImportError(
            'this needs numba_cuda, which cannot be imported; install it with: pip install "toplist[gpu]"'
        )

    monkeypatch.setattr(cuda_device, "numba_cuda", missing)
    with pytest.raises(InvalidInput, match=r"pip install \"toplist\[gpu\]\""):
        simulate(engine="gpu")

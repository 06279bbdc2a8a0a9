"""Simulations: repeatable, the same on any number of threads, paired, interruptible and resumable."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.clicks import DBN, DCM, Cascade
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import Forced, NeverSeenFirst, OneSample
from toplist.worlds import Fixed, b_lb, b_top_k

WORLD, USERS = b_lb(16, 4, 0.2, 0.15, 0.5)
POLICIES = ["dcm-kl-ucb", "cascade-ucb1", "random"]


def simulate(**changes: Any) -> toplist.Result:
    arguments: dict[str, Any] = {
        "policies": POLICIES, "world": WORLD, "users": USERS, "steps": 3000, "runs": 5, "seed": 3, **changes
    }  # fmt: skip
    return toplist.simulate(**arguments)


def same(one: toplist.Result, other: toplist.Result) -> bool:
    return all(
        one.regret[policy].tobytes() == other.regret[policy].tobytes()
        and one.clicks[policy].tobytes() == other.clicks[policy].tobytes()
        for policy in one.policies
    )


def test_numbers_do_not_depend_on_threads_or_other_policies() -> None:
    alone = simulate(threads=1)
    assert same(alone, simulate(threads=2))
    assert same(alone, simulate(threads=7))
    single = simulate(policies="cascade-ucb1", runs=2)
    assert single.regret["cascade-ucb1"].tobytes() == alone.regret["cascade-ucb1"][:2].tobytes()
    assert not same(alone, simulate(seed=4))


def test_curves_are_recorded_at_checkpoints() -> None:
    result = simulate(policies="random", checkpoints=[10, 2000])
    assert result.checkpoints.tolist() == [10, 2000, 3000]
    fine = simulate(policies="random", checkpoints=3000)
    assert fine.regret["random"][:, [9, 1999, 2999]].tobytes() == result.regret["random"].tobytes()
    assert simulate(policies="random", checkpoints=4).checkpoints.tolist() == [750, 1500, 2250, 3000]
    assert simulate(policies="random", steps=3, checkpoints=100).checkpoints.tolist() == [1, 2, 3]
    assert np.all(np.diff(fine.regret["random"], axis=1) >= 0)


@pytest.mark.parametrize(
    ("users", "reward"),
    [(Cascade(), 1 - 0.3 * 0.5), (DCM(0.4), 1 - (1 - 0.28) * (1 - 0.2)), (DBN(0.5, 0.8), 0.35 + 0.8 * 0.65 * 0.25)],
)
def test_regret_and_clicks_of_fixed_lists_by_hand(users: Any, reward: float) -> None:
    world = Fixed([0.2, 0.7, 0.5], 2)
    lists = {"best": toplist.policies.ShowList([1, 2]), "worst": toplist.policies.ShowList([0, 2])}
    result = toplist.simulate(lists, world, users, steps=2000, runs=3)
    prepared = users.prepare(world.problem())
    worst = prepared.reward(None, np.array([0, 2]), np.array([0.2, 0.5]))
    assert prepared.reward(None, np.array([1, 2]), np.array([0.7, 0.5])) == pytest.approx(reward)
    assert np.all(result.regret["best"] == 0.0)
    assert result.mean("worst")[-1] == pytest.approx(2000 * (reward - worst))
    assert result.regret["worst"].std() > 0  # over checkpoints, not over runs: regret is the expected one
    assert np.ptp(result.regret["worst"], axis=0).max() == 0.0


def test_the_best_list_has_no_regret_and_random_lists_the_expected_one() -> None:
    world = Fixed([0.9, 0.1, 0.1, 0.1], 1)
    result = toplist.simulate(["best", "random"], world, Cascade(), steps=4000, runs=10)
    assert result.mean("best")[-1] == 0.0
    assert result.mean("best", "clicks")[-1] == pytest.approx(3600, abs=4 * np.sqrt(4000 * 0.09 / 10))
    # Random loses 0.8 three times out of four.
    assert result.mean("random")[-1] == pytest.approx(2400, abs=4 * 0.8 * np.sqrt(4000 * 3 / 16 / 10))


def test_starts_differ_as_they_should() -> None:
    """One sample costs nothing; the forced start shows item t first at step t; unseen items rank first."""
    world = Fixed([0.0] * 6 + [1.0] * 2, 2)
    by_start = {
        type(start).__name__: toplist.simulate(
            "cascade-ucb1", world, Cascade(), steps=8, runs=1, start=start, checkpoints=8
        ).regret["cascade-ucb1"][0]
        for start in (OneSample(), Forced(), NeverSeenFirst())
    }
    assert by_start["OneSample"].tolist() == [0.0] * 8
    forced = np.diff(by_start["Forced"], prepend=0.0)
    assert forced[6:].tolist() == [0.0, 0.0]  # items 7 and 8 are the good ones, and shown first at steps 7 and 8
    never = np.diff(by_start["NeverSeenFirst"], prepend=0.0)
    assert never.sum() <= 3.0  # at most three lists of two worthless items each
    assert never[3:].tolist() == [0.0] * 5


def test_forced_start_shows_every_item_once_at_the_top() -> None:
    setup = RunSetup.of(toplist.make("dcm-kl-ucb"), WORLD, USERS, Forced(), 40)
    player = Player(setup, 1, np.array([40]), compiled=False)
    firsts = []
    for step in range(20):
        player.play(step + 1)
        firsts.append(int(player.run.slate.items[0]))
    assert firsts[:16] == list(range(16))
    assert np.all(player.belief.examined >= 1)


def test_progress_is_reported_to_the_end() -> None:
    seen: list[toplist.Progress] = []
    simulate(progress=seen.append)
    assert [report.done for report in seen] == sorted(report.done for report in seen)
    assert seen[0].total == 3 * 5 * 3000 == seen[-1].done
    assert seen[-1].remaining == 0.0


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Runs that pause after each chunk, so that an interruption finds unfinished ones; `undo` ends that."""
    play = Player.play

    def pausing(self: Player, until: int) -> None:
        play(self, until)
        time.sleep(0.03)

    monkeypatch.setattr(Player, "play", pausing)
    return monkeypatch


def test_resume_after_an_interruption_gives_the_numbers_of_an_uninterrupted_run(
    tmp_path: Path, slowly: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept.npz"
    interrupted: list[int] = []

    def interrupt(progress: toplist.Progress) -> None:
        if progress.done > 5000:
            interrupted.append(progress.done)
            raise KeyboardInterrupt

    arguments = {"steps": 2000, "runs": 6}
    with pytest.raises(KeyboardInterrupt):
        simulate(**arguments, resume=file, progress=interrupt)
    slowly.undo()
    assert interrupted
    with np.load(file) as kept:
        assert any(name.startswith("finished/") for name in kept.files)
    seen: list[toplist.Progress] = []
    resumed = simulate(**arguments, resume=file, progress=seen.append)
    assert seen[0].done > 0
    assert same(resumed, simulate(**arguments))
    again: list[toplist.Progress] = []
    assert same(resumed, simulate(**arguments, resume=file, progress=again.append))
    assert again[0].done == again[0].total  # nothing was left to play


@pytest.mark.parametrize("policy", ["cascade-kl-ucb", "ranked-exp3", "ranked-kl-ucb"])
def test_a_run_interrupted_half_way_continues_from_the_file(
    tmp_path: Path, policy: str, slowly: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept.npz"

    def interrupt(progress: toplist.Progress) -> None:
        if progress.done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(policies=policy, steps=100_000, runs=1, resume=file, progress=interrupt)
    slowly.undo()
    with np.load(file) as kept:
        step = int(kept[f"unfinished/{policy}/0/step"])
    assert 0 < step < 100_000
    resumed = simulate(policies=policy, steps=100_000, runs=1, resume=file)
    assert same(resumed, simulate(policies=policy, steps=100_000, runs=1))


def test_more_runs_play_only_the_additional_ones(tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"
    simulate(runs=2, resume=file)
    seen: list[toplist.Progress] = []
    more = simulate(runs=5, resume=file, progress=seen.append)
    assert seen[0].done == 3 * 2 * 3000
    assert same(more, simulate(runs=5))


def test_a_file_of_another_simulation_or_damaged_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"
    simulate(resume=file)
    before = file.read_bytes()
    others: list[tuple[dict[str, Any], str]] = [
        ({"seed": 9}, "seed 3"),
        ({"world": b_top_k(16, 4, 0.3, 0.15)}, "world"),
        ({"users": DCM(0.6)}, "users"),
        ({"policies": [*POLICIES[:2], "last-click"]}, "policies"),
        ({"steps": 2000}, "steps 3000, but this one has 2000"),
        ({"steps": 2000, "policies": "ranked-exp3", "seed": 9}, "steps"),
        ({"policies": "random", "checkpoints": 7}, r'policies \["dcm-kl-ucb", .*\], but this one has \["random"\]'),
        ({"users": DCM(0.6), "seed": 9, "checkpoints": 7}, "users"),
        ({"checkpoints": 7}, "checkpoints"),
    ]
    for changes, word in others:
        with pytest.raises(toplist.InvalidInput, match=f"holds a simulation with {word}"):
            simulate(resume=file, **changes)
    assert file.read_bytes() == before
    foreign = io.BytesIO()
    np.savez(foreign, header=np.frombuffer(b"[1]", dtype=np.uint8))
    lone = io.BytesIO()
    np.save(lone, np.zeros(3))
    for damage in (before[: len(before) // 2], b"", b"not an archive", foreign.getvalue(), lone.getvalue()):
        file.write_bytes(damage)
        with pytest.raises(toplist.InvalidInput, match="is damaged"):
            simulate(resume=file)
        assert file.read_bytes() == damage


def test_the_order_of_policies_does_not_matter_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"
    first = simulate(runs=1, resume=file)
    again = simulate(runs=1, resume=file, policies=POLICIES[::-1])
    assert same(first, again)


def test_a_full_disk_loses_the_file_but_not_the_simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.npz"

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(UserWarning, match="could not be written, and is tried again: .*No space left"):
        result = simulate(resume=file)
    assert same(result, simulate())
    assert list(tmp_path.iterdir()) == []


def test_a_failing_policy_ends_the_simulation_with_its_own_error() -> None:
    wrong: Any = "x"
    broken = toplist.make("random")._replace(memory=toplist.memory.Everything(prior_mean=wrong))
    with pytest.raises(toplist.InvalidInput, match="prior_mean is 'x'"):
        simulate(policies=broken)


PROGRAM = """
import signal, sys, time, toplist
from toplist.engine import scheduler
signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells make their children ignore it
scheduler.SNAPSHOT_SECONDS = 0.5
play = scheduler.Player.play
if sys.argv[2] == "slowly":
    scheduler.Player.play = lambda self, until: (play(self, until), time.sleep(0.03))
world, users = toplist.worlds.b_lb(16, 4, 0.2, 0.15, 0.5)
print("ready", flush=True)
toplist.simulate("dcm-kl-ucb", world, users, steps=300_000, runs=3, seed=1, resume=sys.argv[1])
print("finished", flush=True)
"""


@pytest.mark.slow
def test_a_simulation_resumes_after_ctrl_c_and_kill(tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"

    def start(pace: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(file), pace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    def steps_kept() -> int:
        with np.load(file) as kept:  # always complete and readable
            assert json.loads(kept["header"].tobytes())["seed"] == 1
            return sum(int(kept[name]) for name in kept.files if name.endswith("/step"))

    child = start("slowly")
    time.sleep(3)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors
    interrupted = steps_kept()
    assert interrupted > 0
    child = start("slowly")
    time.sleep(8)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=60)
    assert steps_kept() > interrupted  # snapshots on the way were saved
    child = start("quickly")
    out, errors = child.communicate(timeout=120)
    assert (child.returncode, out, errors) == (0, "finished\n", "")
    resumed = toplist.simulate("dcm-kl-ucb", WORLD, USERS, steps=300_000, runs=3, seed=1, resume=file)
    assert same(resumed, toplist.simulate("dcm-kl-ucb", WORLD, USERS, steps=300_000, runs=3, seed=1))


def test_all_but_the_runs_in_progress_are_saved_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.engine.resume_file.PAUSE", 0.0)  # save without throttling
    file, steps, seen = tmp_path / "kept.npz", 500_000, []  # a run takes longer than writing the file

    def look(now: toplist.Progress) -> None:
        kept = 0
        if file.exists():
            with np.load(file) as arrays:
                kept = sum(name.startswith("finished/") for name in arrays.files)
        # The current run, and one that ended during this call.
        assert now.done - kept * steps <= 2 * steps
        seen.append(kept)

    simulate(policies="cascade-ucb1", steps=steps, runs=20, threads=1, resume=file, progress=look)
    assert len(set(seen)) > 6
    assert seen[-1] == 20


class Impatient(DCM):
    """Users whose methods the test may patch."""

    __slots__ = ()


def test_a_simulation_is_not_continued_with_other_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.npz"
    arguments = {"users": Impatient(0.5), "policies": "best", "resume": file, "steps": 20, "compiled": False}
    simulate(**arguments, runs=1)
    assert simulate(**arguments, runs=2).runs == 2
    monkeypatch.setattr(Impatient, "reward", Cascade.reward)
    with pytest.raises(toplist.InvalidInput, match="was played by other code"):
        simulate(**arguments, runs=3)


def test_the_rate_excludes_steps_of_an_earlier_call() -> None:
    report = toplist.Progress(done=60, total=100, seconds=2.0, earlier=40)
    assert report.remaining == 4.0
    assert toplist.Progress(done=40, total=100, seconds=0.0, earlier=40).remaining == float("inf")


def test_labels_of_policies() -> None:
    parts = toplist.make("cascade-ucb1")
    result = simulate(policies=[parts, "cascade-ucb1", parts], runs=1, steps=50)
    assert result.policies == ("Policy", "cascade-ucb1", "Policy'")
    assert same(simulate(policies={"mine": parts}), simulate(policies={"mine": "cascade-ucb1"}))


class HalfEmpty(Fixed):
    """A world in which only items 1 and 3 can be shown."""

    __slots__ = ()

    def eligible(self, moment: Any, candidates: Any) -> int:
        candidates[0], candidates[1] = 1, 3
        return 2


@pytest.mark.parametrize("policy", ["cascade-kl-ucb", "ranked-ucb1", "random"])
def test_lists_are_shorter_where_fewer_items_are_eligible(policy: str) -> None:
    world = HalfEmpty([1.0] * 5, 3)
    result = toplist.simulate(policy, world, DCM(0.0), steps=200, runs=1, compiled=False)
    assert result.clicks[policy][0, -1] == 2 * 200  # every visitor clicks both items, and no others are shown
    setup = RunSetup.of(toplist.make(policy), world, DCM(0.0), NeverSeenFirst(), 50)
    player = Player(setup, 1, np.array([50]), compiled=False)
    player.play(50)
    assert sorted(player.run.slate.items[: player.run.slate.size[0]].tolist()) == [1, 3]

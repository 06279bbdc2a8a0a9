"""The study behind the default policy: its pages, late reports, the rule of the verdict, and one small run."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.beliefs import array_bytes
from toplist.engine.comparison import Comparison
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import NeverSeenFirst
from toplist.experiments import default_policy
from toplist.experiments.default_policy import (
    CANDIDATES,
    WITH_PRIOR,
    StudyPage,
    column,
    design,
    share,
    tables,
    verdict,
)
from toplist.experiments.live_policy import LivePolicy
from toplist.parts import Chance, Everything, ThroughLastClick

CHECKPOINTS = np.array([60])
WORLD = toplist.worlds.Fixed([0.5, 0.4, 0.3, 0.2, 0.1], positions=3)
BLIND = toplist.Policy(ThroughLastClick(), Everything(), Chance())  # counts clicks, and shows random lists


def player(policy: Any) -> Player:
    setup = RunSetup.of(policy, WORLD, toplist.clicks.DCM(0.5), NeverSeenFirst(), None)
    return Player(setup, 7, CHECKPOINTS, compiled=False)


def test_the_design_is_balanced() -> None:
    cells = design()
    assert set(Counter((cell.rate, cell.users, cell.items) for cell in cells).values()) == {1}
    for field in ("rate", "users", "items"):
        late = Counter((getattr(cell, field), cell.delay) for cell in cells)
        shares = {delay: {count for (_, other), count in late.items() if other == delay} for delay in (0, 100, 1000)}
        assert all(len(counts) == 1 for counts in shares.values()), field
        assert len(set(Counter((getattr(cell, field), cell.passing) for cell in cells).values())) == 1, field
    assert set(Counter(cell.rate for cell in cells if cell.is_long).values()) == {2}
    assert set(Counter(cell.users for cell in cells if cell.is_long).values()) == {2}


def test_late_reports_are_learned_late_and_completely() -> None:
    late, at_once = player(LivePolicy(BLIND, delay=4)), player(BLIND)
    late.play(25)
    at_once.play(21)
    assert array_bytes(late.belief.learned) == array_bytes(at_once.belief)
    late.play(26)
    assert array_bytes(late.belief.learned) != array_bytes(at_once.belief)


def test_without_delay_lists_are_those_of_the_policy() -> None:
    live, alone = player(LivePolicy(toplist.make("dcm-ts"))), player(toplist.make("dcm-ts"))
    live.play(60)
    alone.play(60)
    assert live.run.curves.tolist() == alone.run.curves.tolist()
    assert array_bytes(live.belief.learned) == array_bytes(alone.belief)


def test_a_memo_waits_with_its_list() -> None:
    """Ranked bandits write into the memo which item each position proposed."""
    policy = toplist.make("ranked-kl-ucb")
    late, at_once = player(LivePolicy(policy, delay=1)), player(policy)
    late.play(1)
    at_once.play(1)
    late.play(2)
    assert array_bytes(late.belief.learned) == array_bytes(at_once.belief)


def test_waiting_lists_are_part_of_a_snapshot() -> None:
    whole, begun, resumed = (player(LivePolicy(toplist.make("dcm-ts"), delay=5)) for _ in range(3))
    whole.play(60)
    begun.play(30)
    resumed.restore({name: np.copy(array) for name, array in begun.state_arrays().items()})
    resumed.play(60)
    assert resumed.run.curves.tolist() == whole.run.curves.tolist()
    assert array_bytes(resumed.belief) == array_bytes(whole.belief)


def test_a_prior_counts_as_examinations() -> None:
    belief = player(LivePolicy(BLIND, prior_mean=0.2, prior_strength=10.0)).belief.learned
    assert belief.examined.tolist() == [10.0] * 5
    assert belief.clicked.tolist() == [2.0] * 5


def made_up(cells: Sequence[StudyPage], regret: dict[str, float]) -> Comparison:
    """Two runs of every policy; random lists lose 100 and the policies what `regret` says, else 90."""
    labels = [column(cell, horizon) for cell in cells for horizon in cell.horizons()]
    names = (*CANDIDATES, WITH_PRIOR)
    own = {name: regret.get(name, 90.0) + np.array([-1.0, 1.0]) for name in names}
    return Comparison({label: own | {"random": np.full(2, 100.0)} for label in labels}, "random")


def test_the_least_mean_wins_among_policies_that_take_every_request() -> None:
    cells = design()
    found = made_up(cells, {"top-rank(delta=0.001)": 10.0, WITH_PRIOR: 15.0, "cascade-ts": 20.0, "dcm-ts": 30.0})
    assert verdict(found, cells) == "cascade-ts"
    lines = tables(found, cells).splitlines()
    assert [line for line in lines if "**chosen**" in line] == [lines[6]]
    assert lines[6].startswith("| `cascade-ts` | 20.0 ± 0.2 | 20.0 | 20.0 | 20.0 | 20.0 | 20 |")
    assert lines[4].startswith("| `top-rank(delta=0.001)` | 10.0 ± 0.2 ")
    assert lines[4].endswith("| no |")


def test_horizons_of_a_cell_share_their_runs() -> None:
    """The error of a mean over correlated columns is not smaller than that of one of them."""
    cells = design()[:1]
    found = made_up(cells, {"dcm-ts": 30.0})
    several = [(cells[0], horizon) for horizon in cells[0].horizons()]
    assert share(found, "dcm-ts", several) == pytest.approx((0.3, 0.01))
    assert share(found, "dcm-ts", several[:1]) == pytest.approx((0.3, 0.01))


def test_a_small_run_is_written_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_policy, "CANDIDATES", ("dcm-ts",))
    monkeypatch.setattr(default_policy, "HORIZONS", (10, 2000))
    cell = StudyPage(0.3, "cascade", 12, 3, 10, passing=True, is_long=False)
    reports: list[toplist.Progress] = []
    found = default_policy.play([cell], 2, 0, 1, tmp_path, reports.append)
    assert found.policies == ("dcm-ts", WITH_PRIOR, "random")
    assert found.columns == (column(cell, 10), column(cell, 2000))
    late, early = (found.relative("dcm-ts", column(cell, horizon)).value for horizon in (2000, 10))
    assert late < 0.5 < early
    again = default_policy.play([cell], 2, 0, 1, tmp_path, reports.append)
    assert again == found
    assert reports[-1].earlier == reports[-1].total

"""Mixtures in simulations: a kind alone behaves as without the mixture, and runs do not share scratch arrays."""

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pytest

import toplist
from toplist.clicks import CCM, PBM, UBM, Cascade, Mixture
from toplist.core.beliefs import copy_arrays
from toplist.core.problem import InvalidInput, Problem
from toplist.core.slate import Floats, Ints, Page
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.support.catalogue import USERS
from toplist.support.part_json import as_plain
from toplist.worlds import Contextual, Fixed, coming_and_going

WORLD = Fixed([0.5, 0.2, 0.35, 0.1, 0.3, 0.15, 0.6, 0.25], 4)
POLICY = "cascade-ucb1"
CHAIN, BROWSING = CCM(0.8, 0.7, 0.4), UBM(0.6)


def simulate(users: Any, **changes: Any) -> toplist.Result:
    return toplist.simulate(POLICY, WORLD, users, **({"steps": 500, "runs": 3, "seed": 4} | changes))


def same(one: toplist.Result, other: toplist.Result) -> bool:
    pairs = ((one.regret, other.regret), (one.clicks, other.clicks))
    return all(here[POLICY].tobytes() == there[POLICY].tobytes() for here, there in pairs)


def test_a_kind_that_is_alone_plays_as_without_the_mixture() -> None:
    chain, browsing = simulate(CHAIN), simulate(BROWSING)
    assert not same(chain, browsing)
    assert same(chain, simulate(Mixture(CHAIN, BROWSING, 1)))
    assert same(browsing, simulate(Mixture(CHAIN, BROWSING, 0)))
    for share, alone in ((1.0, chain), (0.0, browsing)):
        assert same(alone, simulate(Mixture(Mixture(CHAIN, BROWSING, share), "cascade", 1.0)))
    assert same(simulate(Cascade()), simulate(Mixture(Mixture(CHAIN, BROWSING, 0.5), "cascade", 0.0)))
    assert not same(chain, simulate(Mixture(CHAIN, BROWSING, 0.99)))


class InOrder(NamedTuple):
    """PBM users whose best list is the items' own order."""

    kind: Any = PBM()

    def prepare(self, problem: Problem) -> Self:
        return self._replace(kind=self.kind.prepare(problem))

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        return int(self.kind.click(moment, items, attraction, labels, visitor, page))

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        return float(self.kind.reward(moment, items, attraction))

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        for place in range(len(items)):
            items[place] = place


@pytest.mark.parametrize(("share", "wanted"), [(1.0, [0, 1]), (0.0, [2, 1]), (0.5, [2, 1])])
def test_a_kind_that_is_alone_has_its_own_best_list_whatever_it_is(share: float, wanted: list[int]) -> None:
    users, items = Mixture(InOrder(), "cascade", share).prepare(Problem(3, 2)), np.zeros(2, dtype=np.int64)
    users.best(None, np.array([0.1, 0.2, 0.3]), items)
    assert items.tolist() == wanted
    turned = Mixture("cascade", InOrder(), 1.0 - share).prepare(Problem(3, 2))
    turned.best(None, np.array([0.1, 0.2, 0.3]), items)
    assert items.tolist() == wanted


def test_levels_count_from_the_innermost() -> None:
    one = Mixture("cascade", "pbm")
    deep = Mixture("pbm", Mixture(Mixture(one, one), "dcm")).prepare(Problem(5, 3))
    assert [deep.level, deep.second.level, deep.second.first.level, deep.second.first.second.level] == [4, 3, 2, 1]


def test_names_are_understood_as_on_the_command_line() -> None:
    asked = USERS.make("mixture(first=cascade, second='pbm(examination=0.5)', share=0.25)")
    ready = asked.prepare(Problem(5, 3))
    assert ready.first.termination.tolist() == [1.0, 1.0, 1.0]  # cascade users, prepared
    assert ready.second.examination.tolist() == [0.5, 0.5, 0.5]
    assert list(USERS.entries()["mixture"].parameters) == ["first", "second", "share"]


def test_threads_do_not_matter() -> None:
    """Items that change at every step, so that the best list is searched all the time."""
    users, results = Mixture("changing-dcm", BROWSING, 0.4), []
    for threads in (1, 4):
        played = toplist.simulate("random", Contextual(8, 4), users, steps=3000, runs=8, threads=threads)
        results.append(played.regret["random"].tobytes() + played.clicks["random"].tobytes())
    assert results[0] == results[1]


def test_items_may_come_and_go() -> None:
    """Often fewer items are available than positions."""
    world = coming_and_going(WORLD.attraction, 4, stay=10, away=20)
    played = toplist.simulate(["best", "random"], world, Mixture(CHAIN, BROWSING, 0.5), steps=500, runs=2)
    assert np.all(played.regret["best"] == 0.0)
    assert np.diff(played.regret["random"], axis=1).min() > -1e-9


@pytest.mark.parametrize("users", [CHAIN, BROWSING, Mixture(CHAIN, BROWSING, 0.5)], ids=["CCM", "UBM", "mixture"])
def test_plain_and_compiled_agree_and_the_setting_stays_as_it_was(users: Any) -> None:
    setting = RunSetup.of(toplist.make(POLICY), WORLD, users, OneSample(), 300)
    before = as_plain(setting.users)
    players = [Player(setting, 3, np.arange(10, 301, 10), compiled=compiled) for compiled in (True, False)]
    for player in players:
        player.play(300)
        assert as_plain(player.users) != before
    assert players[0].run.curves.tobytes() == players[1].run.curves.tobytes()
    assert as_plain(setting.users) == before


def test_copies_share_no_array_however_deep() -> None:
    users = Mixture(CHAIN, Mixture(BROWSING, "cascade")).prepare(Problem(5, 3))
    copy = copy_arrays(users)
    assert as_plain(copy) == as_plain(users)

    def arrays(part: Any) -> list[Any]:
        if isinstance(part, tuple):
            return [array for field in part for array in arrays(field)]
        return [part] if isinstance(part, np.ndarray) else []

    pairs = list(zip(arrays(users), arrays(copy), strict=True))
    assert len(pairs) == 14
    assert not any(np.shares_memory(one, other) for one, other in pairs)


def test_a_mixture_can_be_resumed(tmp_path: Path) -> None:
    file, users = tmp_path / "kept.npz", Mixture(CHAIN, BROWSING, 0.5)
    simulate(users, runs=2, resume=file)
    assert same(simulate(users, resume=file), simulate(users))
    with pytest.raises(InvalidInput, match="holds a simulation with users"):
        simulate(users._replace(share=0.25), resume=file)

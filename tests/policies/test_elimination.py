"""TopRank, BatchRank and BubbleRank against reference implementations, and their guarantees for any users."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.clicks import DCM, PBM, Cascade
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import Request, empty_page
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.policies import make
from toplist.policies.duels import record_win
from toplist.worlds import Fixed

NOTHING = np.zeros(0, dtype=np.int64)
EASY = np.array([0.2, 0.8, 0.4, 0.6, 0.1, 0.7, 0.3, 0.5])  # eight items, 0.1 between neighbours
USERS = {"cascade": Cascade(), "dcm": DCM([0.8, 0.6, 0.4]), "pbm": PBM([0.9, 0.6, 0.3])}


def player(
    policy: Any, users: Any, attraction: Any = EASY, positions: int = 3, steps: int = 10**6, key: int = 1
) -> Player:
    setting = RunSetup.of(make(policy), Fixed(attraction, positions), users, OneSample(), steps)
    return Player(setting, key, np.array([steps]))


def history(at_work: Player, steps: int) -> Iterator[tuple[list[int], list[int]]]:
    """Per list: the items shown, and whether each position was clicked."""
    for step in range(steps):
        at_work.play(step + 1)
        yield at_work.run.slate.items.tolist(), at_work.run.page.clicks.tolist()


# TopRank --------------------------------------------------------------------------------------------------------------


def peeled(beats: Any) -> list[int]:
    """The blocks by definition: the items not beaten by any remaining item, then again among the rest."""
    block = [-1] * len(beats)
    number = 0
    while -1 in block:
        rest = [item for item in range(len(beats)) if block[item] < 0]
        for item in [item for item in rest if not any(beats[other][item] for other in rest)]:
            block[item] = number
        number += 1
    return block


def test_toprank_keeps_the_duels_and_the_blocks_of_its_definition() -> None:
    at_work = player("top-rank(delta=0.05)", PBM([1.0, 0.8, 0.6]))
    items = len(EASY)
    lead, duels, beats = np.zeros((items, items)), np.zeros((items, items)), np.zeros((items, items), dtype=bool)
    blocks, changes = [0] * items, 0
    constant = 4 * np.sqrt(2 / np.pi) / 0.9544997361036416  # erf(sqrt 2)
    for shown, clicks in history(at_work, 3000):
        assert [blocks[item] for item in shown] == sorted(blocks)[: len(shown)]
        clicked = np.zeros(items)
        clicked[shown] = clicks
        for one in range(items):
            for other in range(items):
                if blocks[one] == blocks[other] and clicked[one] != clicked[other]:
                    lead[one, other] += clicked[one] - clicked[other]
                    duels[one, other] += 1
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.sqrt(2 * duels * np.log(constant * np.sqrt(duels) / 0.05))
        beats |= (duels > 0) & (lead >= bound)
        changes += blocks != peeled(beats)
        blocks = peeled(beats)
        assert at_work.belief.block.tolist() == blocks
    wins = at_work.belief.wins
    assert np.array_equal(wins - wins.T, lead)
    assert np.array_equal(wins + wins.T, duels)
    assert np.array_equal(at_work.belief.beats == 1, beats)
    assert changes > 5  # or nothing was tested


@pytest.mark.slow
@pytest.mark.parametrize("users", USERS)
def test_toprank_orders_hardly_ever_two_items_wrongly(users: str) -> None:
    """Delta is 0.05, and 150 runs are played. Over 500 runs, 0 to 0.6% ever let a worse item beat a better one.

    Blocks are another matter: one of two items may be beaten by a third before the other is, and waits below it until
    then. The paper's bound is on who beats whom.
    """
    better = EASY[:, None] > EASY[None, :]
    wrong = 0
    for run in range(150):
        at_work = player("top-rank(delta=0.05)", USERS[users], key=branch(7, run))
        at_work.play(20_000)
        assert at_work.belief.beats.sum() >= 5
        wrong += bool((at_work.belief.beats.T[better] == 1).any())
    assert wrong / 150 < 0.05


def test_items_that_beat_each_other_in_a_circle_are_shuffled_at_the_end() -> None:
    policy = make("top-rank(delta=0.5)").prepare(Problem(4, 4, 0, 100))
    belief = policy.begin(Problem(4, 4, 0, 100))
    for winner, loser in ((0, 1), (1, 2), (2, 0)):
        slate = policy.slate(Problem(4, 4, 0, 100))
        slate.items[:], slate.size[0] = [winner, loser, 3, 3], 2
        page = empty_page(4)
        page.clicks[0] = 1
        for _ in range(100):
            policy.learn(belief, slate, page)
        assert belief.beats[winner, loser] == 1
    assert belief.block.tolist() == [3, 3, 3, 0]


def test_a_lead_decides_at_the_bound_and_not_before() -> None:
    wins = np.zeros((2, 2), dtype=np.int64)
    wins[1, 0] = 7
    decided = [record_win(wins, 0, 1, 3.0, 1.0) for _ in range(60)]
    leads = np.arange(1, 61) - 7
    bound = np.sqrt((np.arange(1, 61) + 7) * (3.0 + np.log(np.arange(1, 61) + 7)))
    assert decided == (leads >= bound).tolist()
    assert 0 < sum(decided) < 60


def test_toprank_learns_from_pins_nothing_and_keeps_to_a_subset() -> None:
    problem = Problem(6, 3, 0, 1000)
    policy = make("top-rank").prepare(problem)
    belief, cache, slate = policy.begin(problem), policy.scratch(problem), policy.slate(problem)
    candidates = np.array([0, 2, 3, 5])
    pins = np.array([-1, 5, -1])
    request = Request(candidates, 3, pins, NOTHING, np.zeros((6, 0)), 0, np.arange(6), 3)
    policy.rank(belief, cache, request, slate)
    assert slate.items[1] == 5
    page = empty_page(3)
    page.clicks[:] = [0, 1, 1]
    policy.learn(belief, slate, page)
    winner, loser = slate.items[2], slate.items[0]
    unshown = ({0, 2, 3} - {int(winner), int(loser)}).pop()
    assert belief.wins[winner].nonzero()[0].tolist() == sorted([loser, unshown])
    assert belief.wins.sum() == 2


# BatchRank ------------------------------------------------------------------------------------------------------------


class Batch:
    """A batch of the paper: its positions, items, stage and counts."""

    def __init__(self, first: int, length: int, items: list[int], stage: int = 0) -> None:
        self.first, self.length, self.items, self.stage = first, length, items, stage
        self.shown, self.clicked = dict.fromkeys(items, 0), dict.fromkeys(items, 0)

    def learned(self, shown: list[int], clicks: list[int], steps: int) -> list["Batch"]:
        """The batches that follow from this one after a list."""
        least = min(self.shown.values())
        for place in range(self.first, self.first + self.length):
            item = shown[place]
            if self.shown[item] == least:
                self.shown[item] += 1
                self.clicked[item] += clicks[place]
        if min(self.shown.values()) < np.ceil(16 * 4**self.stage * np.log(steps)):
            return [self]
        low, high = {}, {}
        for item in self.items:
            low[item], high[item] = bounds(self.clicked[item] / self.shown[item], self.shown[item], steps)
        ranked = sorted(self.items, key=lambda item: -low[item])
        splits = [s for s in range(1, self.length) if low[ranked[s - 1]] > max(high[item] for item in ranked[s:])]
        if splits:
            s = splits[-1]
            return [Batch(self.first, s, ranked[:s]), Batch(self.first + s, self.length - s, ranked[s:])]
        kept = [item for item in ranked if high[item] >= low[ranked[self.length - 1]]]
        return [Batch(self.first, self.length, kept, self.stage + 1)]


def bounds(mean: float, shown: int, steps: int) -> tuple[float, float]:
    """KL bounds by bisection."""
    budget = (np.log(steps) + 3 * np.log(np.log(steps))) / shown

    def divergence(q: float) -> float:
        one = mean * np.log(mean / q) if mean > 0 else 0.0
        return float(one + ((1 - mean) * np.log((1 - mean) / (1 - q)) if mean < 1 else 0.0))

    found = []
    for end in (0.0, 1.0):
        inside, outside = mean, end
        for _ in range(80):
            middle = (inside + outside) / 2
            if 0 < middle < 1 and divergence(middle) <= budget:
                inside = middle
            else:
                outside = middle
        found.append(inside)
    return found[0], found[1]


def test_batchrank_splits_and_drops_as_its_rule_says() -> None:
    steps = 10**5
    at_work = player("batch-rank", PBM([1.0, 0.8, 0.6]), steps=steps)
    batches = [Batch(0, 3, list(range(8)))]
    generations = 0
    for shown, clicks in history(at_work, 40_000):
        following: list[Batch] = []
        for batch in batches:
            here = shown[batch.first : batch.first + batch.length]
            assert set(here) <= set(batch.items)
            counts = sorted(batch.shown.values())
            assert sorted(batch.shown[item] for item in here) == counts[: batch.length]  # the least shown
            following += batch.learned(shown, clicks, steps)
        generations += [batch.items for batch in following] != [batch.items for batch in batches]
        batches = following
        belief = at_work.belief
        assert sorted(set(belief.first.tolist())) == [batch.first for batch in batches]
        assert [belief.stage[batch.first] for batch in batches] == [batch.stage for batch in batches]
    assert generations >= 4
    assert belief.alive[0] == sum(len(batch.items) for batch in batches) < 8
    for batch in batches:
        end = batch.first + len(batch.items)
        assert set(belief.order[batch.first : end].tolist()) == set(batch.items)
        assert [belief.shown[item] for item in batch.items] == [batch.shown[item] for item in batch.items]
        assert [belief.clicked[item] for item in batch.items] == [batch.clicked[item] for item in batch.items]


def test_batchrank_shows_a_batch_in_every_order_alike() -> None:
    problem = Problem(5, 3, 0, 1000)
    policy = make("batch-rank").prepare(problem)
    belief, cache, slate = policy.begin(problem), policy.scratch(problem), policy.slate(problem)
    belief.shown[:] = [0, 5, 0, 1, 1]  # 0 and 2 must be shown, and one of 3 and 4
    seen = np.zeros((5, 3))
    for key in range(3000):
        request = Request(np.arange(5), 3, NOTHING, NOTHING, np.zeros((5, 0)), 0, np.arange(5), key)
        policy.rank(belief, cache, request, slate)
        seen[slate.items, range(3)] += 1
        assert slate.memo[:, 1].tolist() == [1.0 if item in (0, 2) else 0.0 for item in slate.items]
    expected = np.array([1, 0, 1, 0.5, 0.5])[:, None] / 3
    assert np.abs(seen / 3000 - expected).max() < 4 * np.sqrt(0.25 / 3000)


def test_batchrank_does_not_count_what_was_shown_for_a_stage_that_is_over() -> None:
    problem = Problem(4, 2, 0, 3)
    policy = make("batch-rank").prepare(problem)
    belief, cache = policy.begin(problem), policy.scratch(problem)
    page = empty_page(2)

    def listed(key: int) -> Any:
        slate = policy.slate(problem)
        request = Request(np.arange(4), 2, NOTHING, NOTHING, np.zeros((4, 0)), 0, np.arange(4), key)
        policy.rank(belief, cache, request, slate)
        return slate

    late = listed(0)
    for key in range(1, 100):
        policy.learn(belief, listed(key), page)
        if belief.stage[0] == 1:
            break
    before = belief.shown.copy()
    policy.learn(belief, late, page)
    assert np.array_equal(before, belief.shown)
    policy.learn(belief, listed(200), page)
    assert belief.shown.sum() == before.sum() + 2


@pytest.mark.slow
@pytest.mark.parametrize("users", USERS)
def test_batchrank_and_toprank_find_the_best_list_of_any_users(users: str) -> None:
    """Regret over the last 1e4 of 1e6 steps, per step, under 1% of Random's, in both runs."""
    found = toplist.simulate(
        ["batch-rank", "top-rank", "random"], Fixed(EASY, 3), USERS[users], 10**6, 2, checkpoints=[990_000]
    )
    last = {name: found.regret[name][:, -1] - found.regret[name][:, 0] for name in found.policies}
    assert last["batch-rank"].max() < 0.01 * last["random"].mean()
    assert last["top-rank"].max() < 0.01 * last["random"].mean()


# BubbleRank -----------------------------------------------------------------------------------------------------------


def wrong_pairs(shown: list[int], attraction: Any) -> int:
    worth = [attraction[item] for item in shown]
    return sum(worth[i] < worth[j] for i in range(len(worth)) for j in range(i + 1, len(worth)))


def test_bubblerank_follows_its_rule_and_is_safe_at_every_step() -> None:
    """Where all items have a position: the algorithm of the paper, and its bound on wrong pairs."""
    attraction = np.array([0.1, 0.5, 0.3, 0.7, 0.9, 0.6])
    steps, size = 30_000, len(attraction)
    at_work = player("bubble-rank", PBM(np.linspace(1.0, 0.5, size)), attraction, size, steps, branch(3, 0))
    base, initial = list(range(size)), wrong_pairs(list(range(size)), attraction)
    lead, duels = np.zeros((size, size)), np.zeros((size, size))
    exchanges = 0
    for step, (shown, clicks) in enumerate(history(at_work, steps)):
        expected, tried = list(base), []
        for upper in range(step % 2, size - 1, 2):
            i, j = base[upper], base[upper + 1]
            if abs(lead[i, j]) < 2 * np.sqrt(duels[i, j] * np.log(steps**4)) or duels[i, j] == 0:
                tried.append(upper)
                if shown[upper] == j:
                    expected[upper], expected[upper + 1] = j, i
        assert shown == expected
        assert wrong_pairs(shown, attraction) <= initial + size / 2
        for upper in tried:
            if clicks[upper] != clicks[upper + 1]:
                one, other = shown[upper], shown[upper + 1]
                for a, b, sign in ((one, other, 1), (other, one, -1)):
                    lead[a, b] += sign * (clicks[upper] - clicks[upper + 1])
                    duels[a, b] += 1
        for upper in range(size - 1):
            i, j = base[upper], base[upper + 1]
            if lead[j, i] > 2 * np.sqrt(duels[j, i] * np.log(steps**4)) and duels[j, i] > 0:
                base[upper], base[upper + 1] = j, i
                exchanges += 1
        assert at_work.belief.base.tolist() == base
    assert exchanges >= 5
    assert wrong_pairs(base, attraction) < initial


@pytest.mark.slow
def test_bubblerank_comes_from_a_reversed_ranking_to_the_best_list() -> None:
    """With as many positions as items, and with more items; the last 1e4 steps cost (almost) nothing."""
    attraction = np.linspace(0.8, 0.1, 8)
    for positions in (3, 8):
        users = PBM(np.linspace(1.0, 0.4, positions))
        policies = {"it": f"bubble-rank(ranking={list(range(8))[::-1]})", "random": "random"}
        steps = 500_000
        found = toplist.simulate(policies, Fixed(attraction, positions), users, steps, 2, checkpoints=[steps - 10**4])
        last = {name: found.regret[name][:, -1] - found.regret[name][:, 0] for name in policies}
        assert last["it"].max() < 0.01 * last["random"].mean()


@pytest.mark.slow
@pytest.mark.parametrize("exchanged", [[], [1, 2]])
@pytest.mark.parametrize("users", USERS)
def test_from_a_good_ranking_bubblerank_loses_less_than_toprank(users: str, exchanged: list[int]) -> None:
    """From the best ranking, and with two neighbours in wrong order; paired over 20 runs of 5000 steps, at 99%.

    It does not stay so: TopRank's bound is the narrower one, and on PBM users it has overtaken by 1e5 steps.
    """
    ranking = np.argsort(-EASY)
    ranking[exchanged] = ranking[exchanged[::-1]]
    policies = {"bubble": f"bubble-rank(ranking={ranking.tolist()})", "top": "top-rank"}
    found = toplist.simulate(policies, Fixed(EASY, 3), USERS[users], 5000, 20)
    assert found.difference("bubble", "top", confidence=0.99).high < 0


def test_bubblerank_tries_those_without_a_place_at_the_last_one() -> None:
    problem = Problem(6, 3, 0, 1000)
    policy = make("bubble-rank").prepare(problem)
    belief, cache, slate = policy.begin(problem), policy.scratch(problem), policy.slate(problem)
    belief.beats[2, 4] = 1  # 4 is known to be worse than the last of the list
    last = []
    for key in range(2000):
        request = Request(np.arange(6), 3, NOTHING, NOTHING, np.zeros((6, 0)), 0, np.arange(6), key)
        policy.rank(belief, cache, request, slate)
        last.append(int(slate.items[2]))
    share = np.bincount(last, minlength=6) / 2000
    assert np.abs(share - [0, 0, 0.5, 0.25, 0, 0.25]).max() < 4 * np.sqrt(0.25 / 2000)
    challenger, rival = slate.items[2], int(slate.memo[2, 0])
    assert {2} < {int(challenger), rival}
    page = empty_page(3)
    page.clicks[2] = 1
    policy.learn(belief, slate, page)
    assert belief.wins[challenger, rival] == belief.wins.sum() == 1


def test_bubblerank_shows_pins_and_subsets_in_the_order_of_its_ranking() -> None:
    problem = Problem(6, 3, 0, 1000)
    policy = make("bubble-rank(ranking=[5, 3, 1, 0, 2, 4])").prepare(problem)
    belief, cache, slate = policy.begin(problem), policy.scratch(problem), policy.slate(problem)
    belief.beats[[5, 5, 3], [3, 1, 1]] = 1
    belief.beats[1, [0, 2, 4]] = 1
    request = Request(np.arange(6), 3, NOTHING, NOTHING, np.zeros((6, 0)), 0, np.arange(6), 1)
    policy.rank(belief, cache, request, slate)
    assert slate.items.tolist() == [5, 3, 1]
    policy.rank(belief, cache, request._replace(pins=np.array([4, -1, -1])), slate)
    assert slate.items.tolist() == [4, 5, 3]
    policy.rank(belief, cache, request._replace(candidates=np.array([1, 3])), slate)
    assert slate.items[: slate.size[0]].tolist() == [3, 1]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ("top-rank(delta=0)", "TopRank's delta is 0, but must be above 0"),
        ("top-rank(delta=often)", "TopRank's delta is 'often', but must be a number"),
        ("batch-rank(steps=1)", "BatchRank's steps is 1, but must be a number between 2"),
        ("bubble-rank(ranking=[0, 1, 1])", "each of the items 0 to 3 once"),
    ],
)
def test_what_makes_no_sense_is_refused(policy: str, sentence: str) -> None:
    with pytest.raises(toplist.InvalidInput, match=sentence):
        make(policy).prepare(Problem(4, 2, 0, 100))


@pytest.mark.parametrize("policy", ["top-rank", "batch-rank", "bubble-rank"])
def test_without_a_number_of_steps_they_ask_for_a_number(policy: str) -> None:
    with pytest.raises(toplist.InvalidInput, match="the number of steps is unknown; give"):
        make(policy).prepare(Problem(4, 2))

"""Changing worlds: attraction, availability and regret at every step, against the rules."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist
from toplist.bounds import li2019_gaps
from toplist.clicks import DBN, DCM, PBM, Cascade
from toplist.core.beliefs import array_bytes, copy_arrays
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch, toss, uniform
from toplist.core.slate import Floats
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import Forced, NeverSeenFirst, OneSample
from toplist.worlds import Changing, b_l, coming_and_going, drifting, jumping, piecewise

START = [0.5, 0.2, 0.35, 0.1, 0.3, 0.15]
LIFETIMES: list[Any] = [[0, 40], [0, None], [10, 60], [25, 90], [0, 25], [70, None]]
WORLDS: dict[str, Changing] = {
    "piecewise": piecewise([START, START[::-1], [0.4] * 6], 3, [30, 75]),
    "drawn piecewise": piecewise([START, START[::-1], [0.4] * 6], 3, length=20),
    "jumping": jumping(START, 3, raised=2, up=15, down=25),
    "drifting": drifting(START, 3, speed=0.05),
    "lifetimes": coming_and_going(START, 3, LIFETIMES),
    "drawn lifetimes": coming_and_going(START, 3, stay=12, away=8),
}
USERS: dict[str, Any] = {
    "cascade": Cascade(),
    "DCM": DCM([0.2, 0.9, 0.5]),
    "DBN": DBN([0.9, 0.0, 0.4, 0.8, 0.3, 0.7], 0.7),
    "PBM": PBM([0.3, 0.6, 0.9]),
}
STEPS = 120


def attractions(world: Changing, key: int, steps: int = STEPS) -> Floats:
    """Per step and item; nan where the item is not available."""
    ready = world.checked()
    moment, rows = ready.begin(), []
    ready.advance(moment, 0, key)  # the engine may begin twice: once for the samples, once to play
    candidates = np.zeros(len(ready.attraction), dtype=np.int64)
    for step in range(steps):
        before = moment.attraction.copy()
        moved = ready.advance(moment, step, key)
        assert moved == (step == 0) or not np.array_equal(before, moment.attraction)
        there = candidates[: ready.eligible(moment, candidates)]
        assert there.tolist() == np.flatnonzero(moment.attraction >= 0).tolist()
        row = np.full(len(ready.attraction), np.nan)
        row[there] = moment.attraction[there]
        rows.append(row)
    return np.array(rows)


def geometric(key: int, turn: int, mean: float) -> int:
    """The least n at which the probability of having ended, 1 - (1 - 1/mean)^n, exceeds a uniform number."""
    drawn, steps = uniform(key, turn), 1
    while 1.0 - (1.0 - 1.0 / mean) ** steps <= drawn:
        steps += 1
    return steps


# Attraction at every step ---------------------------------------------------------------------------------------------


def test_epochs_follow_each_other_after_their_breakpoints() -> None:
    rows = [START, START[::-1], [0.4] * 6]
    for step, found in enumerate(attractions(WORLDS["piecewise"], 1)):
        assert found.tolist() == rows[(step >= 30) + (step >= 75)]


@pytest.mark.parametrize("key", range(20))
def test_drawn_epochs_last_as_drawn_and_come_again(key: int) -> None:
    rows, wanted, breakpoints = [START, START[::-1], [0.4] * 6], [], []
    for epoch in itertools.count():
        wanted += [rows[epoch % 3]] * geometric(key, epoch, 20)
        if len(wanted) >= STEPS:
            break
        breakpoints.append(len(wanted))
    world = WORLDS["drawn piecewise"]
    assert attractions(world, key).tolist() == wanted[:STEPS]
    assert world.checked().breakpoints(key, STEPS).tolist() == breakpoints


def test_drawn_lengths_have_the_stated_distribution() -> None:
    """About 40,000 epochs of mean 5: mean and share of single steps within 4.5 standard errors."""
    world = piecewise([[0.1], [0.2]], 1, length=5).checked()
    ends = [world.breakpoints(key, 4000) for key in range(50)]
    lengths = np.concatenate([np.diff(end, prepend=0) for end in ends])
    assert abs(lengths.mean() - 5.0) < 4.5 * math.sqrt(20 / len(lengths))  # variance (1 - p) / p^2
    assert abs(np.mean(lengths == 1) - 0.2) < 4.5 * math.sqrt(0.16 / len(lengths))
    assert piecewise([[0.1], [0.2]], 1, length=1).checked().breakpoints(3, 6).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("key", range(10))
def test_items_jump_as_li2019_says(key: int) -> None:
    """Default for 25 steps, then two of the items 1, 3 and 5, which are not among the best three, at .9 for 15."""
    suboptimal = [1, 5, 3]  # by attraction
    found = attractions(WORLDS["jumping"], key)
    for step in range(STEPS):
        cycle, within = divmod(step, 40)
        wanted = list(START)
        if within >= 25:
            drawn = branch(key, 2 * cycle + 1)
            for rank in sorted(range(3), key=lambda rank: -uniform(drawn, rank))[:2]:
                wanted[suboptimal[rank]] = 0.9
        assert found[step].tolist() == wanted
    assert WORLDS["jumping"].checked().breakpoints(key, STEPS).tolist() == [25, 40, 65, 80, 105]


def test_every_suboptimal_item_jumps_as_often_and_the_choice_is_drawn_anew() -> None:
    """L = 10, K = 3 as in the paper: 3 of 7 jump, in 40 runs of 50 jumps; each within 4.5 standard errors of 3/7."""
    world = jumping(np.linspace(0.5, 0.05, 10), 3, up=1, down=1)
    raised = np.concatenate([attractions(world, key, 100)[1::2] == 0.9 for key in range(40)])
    assert raised.sum(axis=1).tolist() == [3] * 2000
    assert not raised[:, :3].any()
    assert np.all(np.abs(raised[:, 3:].mean(axis=0) - 3 / 7) < 4.5 * math.sqrt(12 / 49 / 2000))
    again = np.mean([np.array_equal(one, other) for one, other in itertools.pairwise(raised)])
    assert abs(again - 1 / 35) < 4.5 * math.sqrt(34 / 35**2 / 1999)


def test_of_equally_attractive_items_those_of_lower_index_are_the_best() -> None:
    assert jumping([0.3, 0.5, 0.3, 0.3], 2, raised=1).checked().how.suboptimal.tolist() == [2, 3]


@pytest.mark.parametrize("key", range(5))
def test_a_walk_goes_by_its_coins_between_its_walls(key: int) -> None:
    speeds = [0.05, 0.1, 0.0, 0.3, 0.02, 0.07]
    found = attractions(drifting(START, 3, speeds, low=0.1, high=0.6), key)
    here = list(START)
    for step in range(STEPS):
        if step > 0:
            for item, speed in enumerate(speeds):
                here[item] += speed if toss(branch(key, step), item, 0.5) else -speed
                if here[item] > 0.6:
                    here[item] = 0.6 - (here[item] - 0.6)
                if here[item] < 0.1:
                    here[item] = 0.1 + (0.1 - here[item])
        np.testing.assert_allclose(found[step], here, atol=1e-12)
    assert found.min() >= 0.1
    assert found.max() <= 0.6
    assert drifting(START, 3, speeds).checked().breakpoints(key, STEPS).tolist() == []


def test_a_walk_has_gone_as_far_as_the_square_root_of_its_steps() -> None:
    """2,000 walks of 100 steps far from the walls: the mean square is t speed^2 within 4.5 standard errors."""
    ends = np.concatenate([attractions(drifting([0.5] * 20, 1, 0.002), key, 101)[-1] for key in range(100)])
    squares = ((ends - 0.5) / 0.002) ** 2
    assert abs(squares.mean() - 100) < 4.5 * squares.std() / math.sqrt(len(squares))


def test_items_are_there_from_one_step_to_another() -> None:
    found = attractions(WORLDS["lifetimes"], 1)
    for step in range(STEPS):
        for item, (come, go) in enumerate(LIFETIMES):
            there = come <= step < (math.inf if go is None else go)
            assert found[step, item] == START[item] if there else np.isnan(found[step, item])
    assert WORLDS["lifetimes"].checked().breakpoints(1, STEPS).tolist() == [10, 25, 40, 60, 70, 90]


@pytest.mark.parametrize("key", range(20))
def test_drawn_stays_and_absences_follow_each_other(key: int) -> None:
    first = [uniform(branch(key, item), -1) for item in range(6)]
    there = {item for item in range(6) if first[item] < 12 / 20}
    late = sorted(set(range(6)) - there, key=lambda item: first[item])[: max(0, 3 - len(there))]
    turns, ends = [0] * 6, [0] * 6

    def lasts(item: int, mean: float) -> int:
        turns[item] += 1
        return geometric(branch(key, item), turns[item] - 1, mean)

    for item in range(6):
        if item in there:
            ends[item] = lasts(item, 12)
        else:
            ends[item] = lasts(item, 8)
            if item in late:
                ends[item] = lasts(item, 12)
    there |= set(late)
    for step, found in enumerate(attractions(WORLDS["drawn lifetimes"], key)):
        for item in range(6):
            if step > 0 and ends[item] == step:
                if item not in there:
                    there.add(item)
                    ends[item] += lasts(item, 12)
                elif len(there) > 3:
                    there.remove(item)
                    ends[item] += lasts(item, 8)
                else:
                    ends[item] += lasts(item, 12)
        assert set(np.flatnonzero(~np.isnan(found)).tolist()) == there
        assert len(there) >= 3


def test_items_are_there_for_their_share_of_the_time() -> None:
    """30 items that stay 3 and are away 9 steps on average, and K = 1: a quarter, within 4.5 standard errors."""
    world = coming_and_going([0.5] * 30, 1, stay=3, away=9)
    shares = np.array([np.mean(~np.isnan(attractions(world, key, 200)), axis=0) for key in range(10)]).ravel()
    assert abs(shares.mean() - 0.25) < 4.5 * shares.std() / math.sqrt(len(shares))
    first = np.concatenate([~np.isnan(attractions(world, key, 1)[0]) for key in range(100)])
    assert abs(first.mean() - 0.25) < 4.5 * math.sqrt(3 / 16 / len(first))


def test_the_lower_bound_problem_is_as_printed() -> None:
    """At every step half of the items at p, the others at p - D; two breakpoints; every item is optimal for a time."""
    world = b_l(items=6, attraction=0.3, gap=0.1, steps=90)
    assert world.checked().problem().positions == 3
    found = attractions(world, 5, 90)
    assert np.all(np.sort(found, axis=1) == [0.3 - 0.1] * 3 + [0.3] * 3)
    assert np.flatnonzero((np.diff(found, axis=0) != 0).any(axis=1)).tolist() == [29, 59]
    assert (found == 0.3).any(axis=0).all()
    assert (found != 0.3).any(axis=0).all()
    assert li2019_gaps([found[0].tolist(), found[40].tolist()], 3) == pytest.approx([0.1] * 6)


# Regret against the best list of each step ----------------------------------------------------------------------------


def earned(users: Any, items: tuple[int, ...], attraction: Floats) -> float:
    """The expected reward of a list: a second implementation."""
    worth = [float(attraction[item]) for item in items]
    if isinstance(users, PBM):
        return float(np.dot(worth, users.examination[: len(worth)]))
    if isinstance(users, DBN):
        total, here = 0.0, 1.0
        for item, own in zip(items, worth, strict=True):
            total += here * own * users.satisfaction[item]
            here *= (1 - own * users.satisfaction[item]) * users.persistence
        return total
    leaving = users.termination if isinstance(users, DCM) else [1.0] * len(items)
    return 1.0 - float(np.prod(1.0 - np.multiply(worth, leaving[: len(worth)])))


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("kind", USERS)
def test_regret_is_the_brute_force_one_at_every_step(name: str, kind: str) -> None:
    """The reward of the best list of the available items, without gaps, less that of the list shown."""
    users = USERS[kind]
    setting = RunSetup.of(toplist.make("cascade-ucb1"), WORLDS[name], users, OneSample(), STEPS)
    player = Player(setting, 7, np.arange(1, STEPS + 1), compiled=False)
    total = 0.0
    for step in range(STEPS):
        player.play(step + 1)
        truth = player.run.moment.attraction
        there = np.flatnonzero(truth >= 0).tolist()
        size = min(3, len(there))
        slate = player.run.slate
        shown = tuple(slate.items[: slate.size[0]].tolist())
        assert len(shown) == len(set(shown)) == size
        assert set(shown) <= set(there)
        listed = player.run.best_items.tolist()
        assert set(listed[:size]) <= set(there)
        assert listed[size:] == [-1] * (3 - size)
        most = max(earned(users, items, truth) for items in itertools.permutations(there, size))
        assert earned(users, tuple(listed[:size]), truth) == pytest.approx(most)
        total += most - earned(users, shown, truth)
        assert player.run.curves[step, 0] == pytest.approx(total, abs=1e-9)


@given(
    st.lists(st.sampled_from([-1.0, 0.0, 0.3, 0.7, 1.0]), min_size=1, max_size=5).filter(lambda some: max(some) >= 0),
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=5, max_size=5),
    st.sampled_from(list(USERS)),
)
def test_who_is_not_there_is_never_among_the_best(attraction: list[float], factors: list[float], kind: str) -> None:
    """Also where no available item attracts."""
    truth, items = np.array(attraction), len(attraction)
    kinds: dict[str, Any] = {
        "cascade": Cascade(), "DCM": DCM(factors[:items]), "DBN": DBN(factors[:items], 0.5), "PBM": PBM(factors[:items])
    }  # fmt: skip
    users = kinds[kind].prepare(Problem(items, items))
    there = np.flatnonzero(truth >= 0).tolist()
    best = np.full(len(there), -7)
    users.best(None, truth, best)
    assert sorted(best.tolist()) == there
    most = max(earned(users, some, truth) for some in itertools.permutations(there))
    assert earned(users, tuple(best.tolist()), truth) == pytest.approx(most)


# At work in the engine ------------------------------------------------------------------------------------------------


def player(name: str, policy: str, key: int = 3, compiled: bool = True) -> Player:
    setting = RunSetup.of(toplist.make(policy), WORLDS[name], DCM(0.6), OneSample(), STEPS)
    return Player(setting, key, np.arange(10, STEPS + 1, 10), compiled=compiled)


@pytest.mark.parametrize("name", WORLDS)
def test_plain_and_compiled_agree_and_interruptions_do_not_matter(name: str) -> None:
    plain, compiled, first, second = (player(name, "random", compiled=fast) for fast in (False, True, True, True))
    plain.play(STEPS)
    compiled.play(STEPS)
    first.play(47)
    second.restore({name: np.copy(array) for name, array in first.state_arrays().items()})
    second.play(STEPS)
    for other in (compiled, second):
        assert plain.run.curves.tobytes() == other.run.curves.tobytes()
        assert array_bytes(plain.belief) == array_bytes(other.belief)
        assert array_bytes(plain.run.moment) == array_bytes(other.run.moment)


@pytest.mark.parametrize("name", WORLDS)
def test_changes_are_the_same_for_all_policies_and_others_in_other_runs(name: str) -> None:
    one, other, elsewhere = (
        player(name, policy, key, compiled=False) for policy, key in (("random", 3), ("dcm-ts", 3), ("random", 4))
    )
    differs = False
    for step in range(STEPS):
        for some in (one, other, elsewhere):
            some.play(step + 1)
        assert array_bytes(one.run.moment) == array_bytes(other.run.moment)
        differs |= not np.array_equal(one.run.moment.attraction, elsewhere.run.moment.attraction)
    assert differs == (name not in ("piecewise", "lifetimes"))


@pytest.mark.parametrize("name", ["piecewise", "drawn piecewise", "jumping", "lifetimes"])
def test_the_numbers_of_items_do_not_matter(name: str) -> None:
    """Items in another order, under their old labels: the same lists."""
    order = np.random.default_rng(5).permutation(6)
    world = WORLDS[name]
    how = world.how
    if name in ("piecewise", "drawn piecewise"):
        how = how._replace(later=[np.array(row)[order] for row in how.later])
    elif name == "lifetimes":
        how = how._replace(lifetimes=[LIFETIMES[item] for item in order])
    moved = world._replace(attraction=np.array(START)[order], how=how)
    lists = []
    for version, labels in ((world, np.arange(6)), (moved, order)):
        setting = RunSetup.of(toplist.make("dcm-ts"), version, DCM(0.6), OneSample(), STEPS)
        playing = Player(setting, 3, np.array([STEPS]), labels)
        shown = []
        for step in range(STEPS):
            playing.play(step + 1)
            shown.append(labels[playing.run.slate.items[: playing.run.slate.size[0]]].tolist())
        lists.append(shown)
    assert lists[0] == lists[1]


@pytest.mark.parametrize("name", WORLDS)
def test_the_all_knowing_policy_has_no_regret(name: str) -> None:
    result = toplist.simulate(["best", "random"], WORLDS[name], DCM([0.2, 0.9, 0.5]), steps=500, runs=2)
    assert np.all(result.regret["best"] == 0.0)
    assert np.all(np.diff(result.regret["random"], axis=1) >= 0.0)
    assert result.mean("random")[-1] > 10.0


@pytest.mark.parametrize("start", [OneSample(), NeverSeenFirst()])
def test_an_item_that_comes_later_was_never_sampled_and_goes_first(start: Any) -> None:
    world = coming_and_going([0.9, 0.9, 0.9, 0.0], 2, [[0, None]] * 3 + [[30, None]])
    setting = RunSetup.of(toplist.make("cascade-ucb1"), world, Cascade(), start, 60)
    playing = Player(setting, 1, np.array([60]), compiled=False)
    playing.play(30)
    assert playing.belief.examined[3] == 0.0
    assert playing.belief.examined[:3].min() > 0.0
    playing.play(31)
    assert playing.run.slate.items[0] == 3


def test_policies_and_starts_that_need_all_items_are_refused_where_items_come_and_go() -> None:
    world = WORLDS["drawn lifetimes"]
    with pytest.raises(InvalidInput, match="this policy always chooses among all; use one that takes subsets"):
        toplist.simulate("ranked-exp3", world, Cascade(), steps=10)
    with pytest.raises(InvalidInput, match="Forced forces items to be shown, but in this world they may be absent"):
        toplist.simulate("cascade-ucb1", world, Cascade(), steps=10, start=Forced())
    toplist.simulate("ranked-exp3", WORLDS["jumping"], Cascade(), steps=10, runs=1)


def test_what_policies_know_of_the_items_is_told() -> None:
    world = jumping(START, 3)._replace(known=np.eye(6)).checked()
    assert world.problem().features == 6
    assert world.features(world.begin()).tolist() == np.eye(6).tolist()


def test_what_changes_all_the_time_tells_no_breakpoints() -> None:
    assert piecewise([[0.1], [0.2]], 1, length=2).checked().breakpoints(0, 100_000).tolist() == []


def test_checking_twice_changes_nothing() -> None:
    for world in WORLDS.values():
        once, twice = world.checked(), world.checked().checked()
        assert array_bytes(once.how) == array_bytes(twice.how)
        moments = [ready.begin() for ready in (once, twice)]
        for step in range(STEPS):
            once.advance(moments[0], step, 9)
            twice.advance(moments[1], step, 9)
        assert array_bytes(copy_arrays(moments[0])) == array_bytes(moments[1])


# Invalid input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: piecewise(0.5, 1, [3]), "attraction is 0.5, but must be a row of probabilities per epoch"),  # type: ignore[arg-type]
        (lambda: piecewise([[0.5, 0.1]], 1), "There is one epoch, but a change needs two"),
        (lambda: piecewise([[0.5, 0.1], [0.5]], 1, [3]), "must be 2 probabilities; give one per item, as in the first"),
        (lambda: piecewise([[0.5], [1.5]], 1, [3]), "The attraction of an epoch.0. is 1.5"),
        (lambda: piecewise([[0.5], [0.1]], 1), "but must be 1 steps; give one fewer than epochs, or a mean length"),
        (lambda: piecewise([[0.5], [0.1]], 1, [3, 4]), "but must be 1 steps"),
        (lambda: piecewise([[0.5], [0.1], [0.2]], 1, [4, 4]), "ascending whole numbers of at least 1"),
        (lambda: piecewise([[0.5], [0.1]], 1, [0]), "ascending whole numbers of at least 1"),
        (lambda: piecewise([[0.5], [0.1]], 1, [2.5]), "ascending whole numbers"),  # type: ignore[list-item]
        (lambda: piecewise([[0.5], [0.1]], 1, [3], length=10), "at least 1, without breakpoints"),
        (lambda: piecewise([[0.5], [0.1]], 1, length=0.5), "at least 1, without breakpoints"),
        (lambda: piecewise([[0.5], [0.1]], 2, [3]), "there are only L = 1 items"),
        (lambda: jumping(START, 4), "must be at most 2, the items that are not among the K most attractive"),
        (lambda: jumping(START, 3, raised=0), "The number of items that jump is 0"),
        (lambda: jumping(START, 3, height=1.2), "The height of a jump is 1.2"),
        (lambda: jumping(START, 3, up=0), "The length of a jump is 0"),
        (lambda: jumping(START, 3, down=0), "The number of steps between jumps is 0"),
        (lambda: drifting(START, 3, speed=-0.1), "The speed.0. is -0.1"),
        (lambda: drifting(START, 3, speed=0.5, low=0.1, high=0.5), "at most the distance of the walls, 0.4"),
        (lambda: drifting(START, 3, low=0.2), "must be between 0.2 and 1; move the walls"),
        (lambda: drifting(START, 3, low=0.5, high=0.2), "The upper wall is 0.2"),
        (lambda: coming_and_going([0.5, 0.1], 1, [[0, 5], [7, None]]), "After 5 steps no item is available"),
        (lambda: coming_and_going([0.5, 0.1], 1, [[1, 5], [3, None]]), "After 0 steps no item is available"),
        (lambda: coming_and_going([0.5, 0.1], 1, [[0, 5]]), "must be 2 pairs of whole numbers"),
        (lambda: coming_and_going([0.5], 1, [[3, 3]]), "must be 1 pairs of whole numbers"),
        (lambda: coming_and_going([0.5], 1, [5]), "give .0, 500. for an item that goes after 500 steps"),
        (lambda: coming_and_going([0.5], 1, [[0, 2.5]]), "must be 1 pairs of whole numbers"),
        (lambda: coming_and_going([0.5], 1, stay=0), "The mean stay is 0"),
        (lambda: coming_and_going([0.5], 1, away=0.5), "The mean absence is 0.5"),
        (lambda: b_l(items=5), "must be an even number; half of the items are shown"),
        (lambda: b_l(gap=0.3), "The gap D is 0.3"),
        (lambda: b_l(steps=2), "The number of steps is 2"),
        (lambda: Changing([[0.5]], 1, WORLDS["jumping"].how), "The attraction is .*flat sequence"),
    ],
)
def test_wrong_worlds_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make().checked()


def test_the_all_knowing_policy_shows_only_who_is_there() -> None:
    """Two positions, and the second item comes after five lists."""
    world = coming_and_going([0.5, 0.3], 2, lifetimes=[[0, None], [5, None]])
    setting = RunSetup.of(toplist.make("best"), world, Cascade(), NeverSeenFirst(), 10)
    player = Player(setting, 1, np.array([10]), compiled=False)
    sizes = []
    for step in range(10):
        player.play(step + 1)
        sizes.append(int(player.run.slate.size[0]))
        assert player.run.slate.items[: sizes[-1]].tolist() == [0, 1][: sizes[-1]]
    assert sizes == [1] * 5 + [2] * 5
    assert player.run.totals[0] == 0.0

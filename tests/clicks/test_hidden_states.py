"""Click models against an enumeration of their hidden states: examination, continuation and kind of user."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.clicks import CCM, DBN, DCM, PBM, UBM, Cascade, Mixture, mix
from toplist.clicks.best_list import RISE
from toplist.core.compiling import compiled
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Page, empty_page

VISITORS = 200_000
ATTRACTION = [0.7, 0.25, 0.5, 0.9]
BROWSING = [[0, 0, 0, 0.9], [0.8, 0, 0, 0.6], [0.3, 1.0, 0, 0.45], [0.1, 0.55, 0.7, 0.2]]
USERS: dict[str, Any] = {
    "PBM": PBM([0.9, 0.4, 1.0, 0.3]),
    "CCM": CCM(0.75, 0.9, 0.35),
    "CCM by default": CCM(),
    "UBM": UBM(BROWSING),
    "UBM of one number": UBM(0.6),
    "mixture": Mixture(CCM(0.75, 0.9, 0.35), UBM(BROWSING), 0.3),
    "mixture by names": Mixture("cascade", "pbm(examination=[0.9, 0.4, 1.0, 0.3])", 0.6),
    "mixture of mixtures": mix(["cascade", UBM(BROWSING), CCM(), PBM(0.5)], [0.25, 0.25, 0.2, 0.3]),
    "mixture on the left": Mixture(Mixture(UBM(BROWSING), "cascade"), "ccm"),
}

Course = tuple[float, tuple[int, ...], int, float]  # probability, clicks, last position examined, and reward


def courses(users: Any, attraction: list[float]) -> Iterator[Course]:
    """Every course that a visit can take, by coins for everything hidden, whether it matters or not."""
    size = len(attraction)
    if isinstance(users, Mixture):
        for kind, share in ((users.first, users.share), (users.second, 1 - users.share)):
            for chance, clicks, left, earned in courses(kind, attraction):
                yield share * chance, clicks, left, earned
        return
    for attracted in itertools.product([0, 1], repeat=size):
        likes = np.prod([own if yes else 1 - own for own, yes in zip(attraction, attracted, strict=True)])
        if isinstance(users, Cascade | DCM):  # DCM: cascade users, prepared
            first = attracted.index(1) if 1 in attracted else size
            clicks = tuple(int(place == first) for place in range(size))
            yield float(likes), clicks, min(first + 1, size), float(any(clicks))
            continue
        for coins in itertools.product([0, 1], repeat=size):  # examines this position, or continues from it
            chance, clicks, left = float(likes), (), size
            for place in range(size):
                if isinstance(users, CCM):
                    here = left == size
                    clicked = int(here and attracted[place])
                    own = attraction[place]
                    heads = users.after_nothing
                    if clicked:
                        heads = users.after_irrelevant * (1 - own) + users.after_relevant * own
                    if here and not coins[place]:
                        left = place + 1
                else:
                    heads = users.examination[place]
                    if isinstance(users, UBM):
                        above = [other for other in range(place) if clicks[other]]
                        heads = heads[above[-1] if above else -1]
                    clicked = coins[place] * attracted[place]
                chance *= heads if coins[place] else 1 - heads
                clicks = (*clicks, clicked)
            yield chance, clicks, left, float(sum(clicks))


@compiled
def watch(users: Any, items: Ints, attraction: Floats, labels: Ints, key: int, page: Page, seen: Ints) -> int:
    """Count the patterns of clicks, as binary numbers, and the last positions examined; return all clicks."""
    total = 0
    for visitor in range(VISITORS):
        total += users.click(None, items, attraction, labels, branch(key, visitor), page)
        pattern = 0
        for place in range(len(items)):
            pattern = 2 * pattern + page.clicks[place]
        seen[pattern, page.left[0]] += 1
    return total


@pytest.mark.parametrize("name", USERS)
def test_clicks_have_the_probabilities_of_all_hidden_courses(name: str) -> None:
    """200,000 visitors: each pattern of clicks and end within 4.5 standard errors; some 150 of them in all."""
    items = np.array([2, 0, 3, 1])
    attraction = np.array(ATTRACTION)[items]
    users = USERS[name].prepare(Problem(4, 4))
    wanted: dict[Any, float] = defaultdict(float)
    for chance, clicks, left, _ in courses(users, attraction.tolist()):
        wanted[clicks, left] += chance
    assert sum(wanted.values()) == pytest.approx(1.0, abs=1e-12)
    seen = np.zeros((16, 5), dtype=np.int64)
    total = watch(users, items, attraction, np.arange(4), 5, empty_page(4), seen)
    assert seen.sum() == VISITORS
    assert total == sum(seen[pattern].sum() * pattern.bit_count() for pattern in range(16))
    for pattern, clicks in enumerate(itertools.product([0, 1], repeat=4)):
        for left in range(5):
            chance = wanted[clicks, left]
            tolerance = 4.5 * np.sqrt(chance * (1 - chance) / VISITORS) + 1e-9
            assert abs(seen[pattern, left] / VISITORS - chance) < tolerance, (clicks, left)


@pytest.mark.parametrize("name", [name for name in USERS if "mixture" not in name])
def test_drawn_clicks_are_as_many_as_the_closed_form_says(name: str) -> None:
    """200,000 visitors: within 4 standard errors, of a number of clicks that varies by less than 4 (of 0 to 4)."""
    items, attraction = np.arange(4), np.array(ATTRACTION)
    users = USERS[name].prepare(Problem(4, 4))
    total = watch(users, items, attraction, items, 6, empty_page(4), np.zeros((16, 5), dtype=np.int64))
    assert abs(total / VISITORS - users.reward(None, items, attraction)) < 4 * np.sqrt(4 / VISITORS)


chances = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1, allow_nan=False))


def numbers(count: int) -> st.SearchStrategy[list[float]]:
    return st.lists(chances, min_size=count, max_size=count)


@st.composite
def plain_users(draw: st.DrawFn, positions: int) -> Any:
    kind = draw(st.sampled_from(["PBM", "CCM", "UBM"]))
    if kind == "PBM":
        return PBM(draw(numbers(positions)))
    if kind == "CCM":
        return CCM(*draw(numbers(3)))
    return UBM([draw(numbers(positions)) for _ in range(positions)])


@st.composite
def any_users(draw: st.DrawFn, positions: int, depth: int = 2) -> Any:
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(plain_users(positions), st.just(Cascade())))
    return Mixture(draw(any_users(positions, depth - 1)), draw(any_users(positions, depth - 1)), draw(chances))


@given(st.data(), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_rewards_are_those_of_all_hidden_courses(data: st.DataObject, positions: int) -> None:
    users = data.draw(any_users(positions)).prepare(Problem(positions, positions))
    attraction = data.draw(numbers(positions))
    by_enumeration = sum(chance * earned for chance, _, _, earned in courses(users, attraction))
    assert users.reward(None, np.arange(positions), np.array(attraction)) == pytest.approx(by_enumeration, abs=1e-12)


def listed(users: Any, attraction: Floats, size: int) -> list[int]:
    """The best list of these users."""
    best = np.full(size, -7)
    users.best(None, attraction, best)
    return best.tolist()


def earned(users: Any, items: Any, attraction: Floats) -> float:
    shown = np.array(items, dtype=np.int64)
    return float(users.reward(None, shown, attraction[shown]))


@given(st.data(), st.lists(st.one_of(st.just(-1.0), chances), min_size=1, max_size=5), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_best_lists_of_pbm_and_ccm_are_the_best_of_all(data: st.DataObject, some: list[float], most: int) -> None:
    """Of the available items, which may be fewer than positions."""
    attraction = np.array(some)
    there = np.flatnonzero(attraction >= 0).tolist()
    positions, size = min(most, len(some)), min(most, len(there))
    users = PBM(data.draw(numbers(positions))) if data.draw(st.booleans()) else CCM(*data.draw(numbers(3)))
    users = users.prepare(Problem(len(some), positions))
    listed(users, np.ones(len(some)), positions)  # leftovers of an earlier search must not matter
    best = listed(users, attraction, size)
    assert len(set(best)) == size
    assert set(best) <= set(there)
    if size > 0:
        highest = max(earned(users, other, attraction) for other in itertools.permutations(there, size))
        assert earned(users, best, attraction) == pytest.approx(highest, abs=1e-12)


@pytest.mark.parametrize("users", [PBM(), CCM(), UBM(), Mixture(UBM(), CCM())], ids=lambda users: type(users).__name__)
def test_of_equals_the_lower_index_goes_first(users: Any) -> None:
    ready = users.prepare(Problem(9, 4))
    assert listed(ready, np.array([0.3, -1, 0.3, 0.3, -1, 0.3, 0.3, 0.3, 0.3]), 4) == [0, 2, 3, 5]


def test_many_items_are_sorted_right() -> None:
    """300 items, so that Shell's gaps are several; where all users continue alike, the most attractive are best."""
    attraction = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 300))
    ready = CCM(0.5, 0.5, 0.5).prepare(Problem(300, 5))
    assert listed(ready, attraction, 5) == np.argsort(-attraction)[:5].tolist()
    assert sorted(listed(CCM().prepare(Problem(300, 300)), attraction, 300)) == list(range(300))


def neighbours(items: list[int], there: list[int]) -> Iterator[list[int]]:
    """All lists that one exchange makes of this one."""
    for place, other in itertools.combinations(range(len(items)), 2):
        changed = items.copy()
        changed[place], changed[other] = changed[other], changed[place]
        yield changed
    for place, item in itertools.product(range(len(items)), set(there) - set(items)):
        yield [*items[:place], item, *items[place + 1 :]]


SEARCHED: dict[str, Any] = {
    "UBM": lambda rng: UBM(rng.uniform(size=(4, 4))),
    "UBM of one number": lambda rng: UBM(rng.uniform()),
    "mixture": lambda rng: Mixture(
        UBM(rng.uniform(size=(4, 4))), DBN(rng.uniform(size=6), rng.uniform()), rng.uniform()
    ),
}


@pytest.mark.parametrize("name", SEARCHED)
def test_searched_lists_are_nearly_always_the_best_of_all(name: str) -> None:
    """100 problems with 6 items, of which one in ten is not available: never 10% below the best, and equal 99 times."""
    rng, ratios = np.random.default_rng(3), []
    for _ in range(100):
        users = SEARCHED[name](rng).prepare(Problem(6, 4))
        attraction = np.where(rng.uniform(size=6) < 0.9, rng.uniform(size=6), -1.0)
        there = np.flatnonzero(attraction >= 0).tolist()
        size = min(4, len(there))
        best = listed(users, attraction, size)
        assert set(best) <= set(there)
        own = earned(users, best, attraction)
        assert all(earned(users, other, attraction) <= own + 2 * RISE for other in neighbours(best, there))
        if isinstance(users, Mixture):
            for kind in (users.first, users.second):
                assert own >= earned(users, listed(kind, attraction, size), attraction) - 1e-12
        highest = max(earned(users, some, attraction) for some in itertools.permutations(there, size))
        ratios.append(own / highest)
    assert min(ratios) >= 0.9
    assert np.mean(np.array(ratios) > 1 - 1e-12) >= 0.99


def test_a_search_never_takes_who_is_not_there() -> None:
    """Here a formula would earn 3 by an item of attraction -1 at the top, as if it made two visitors of one."""
    users = UBM([[0, 0, 1], [0, 0, 1], [0, 1, 1]]).prepare(Problem(4, 3))
    attraction = np.array([1.0, 1.0, 0.0, -1.0])
    assert earned(users, [3, 0, 1], attraction) == 3.0
    assert sorted(listed(users, attraction, 3)) == [0, 1, 2]


@pytest.mark.parametrize("name", USERS)
def test_the_numbers_of_items_do_not_matter(name: str) -> None:
    """Items in another order, under their old labels: the same clicks on the same items, and the same best list."""
    order = np.array([2, 0, 3, 1])
    users = USERS[name].prepare(Problem(4, 4))
    attraction, page, moved_page = np.array(ATTRACTION), empty_page(4), empty_page(4)
    items, labels = np.array([1, 3, 0, 2]), np.arange(4)
    moved = np.argsort(order)[items]  # order[moved] == items
    for visitor in range(500):
        key = branch(8, visitor)
        one = users.click(None, items, attraction[items], labels, key, page)
        other = users.click(None, moved, attraction[order][moved], order, key, moved_page)
        assert one == other
        assert page.clicks.tolist() == moved_page.clicks.tolist()
        assert page.left[0] == moved_page.left[0]
    here, there = (listed(users, own, 3) for own in (attraction, attraction[order]))
    assert here == order[there].tolist()


def test_closed_forms_by_hand() -> None:
    shown, attraction = np.array([0, 1]), np.array([0.5, 0.2])
    problem = Problem(2, 2)
    assert PBM([0.5, 1.0]).prepare(problem).reward(None, shown, attraction) == pytest.approx(0.45)
    # Continues with .5 * .8 + .5 * (.5 * .6 + .5 * .2) = .6
    assert CCM(0.8, 0.6, 0.2).prepare(problem).reward(None, shown, attraction) == pytest.approx(0.5 + 0.6 * 0.2)
    # The first is clicked with .45, then the second is examined with .4, otherwise with .8
    table = UBM([[0.0, 0.9], [0.4, 0.8]]).prepare(problem)
    assert table.reward(None, shown, attraction) == pytest.approx(0.45 + (0.45 * 0.4 + 0.55 * 0.8) * 0.2)
    crowd = Mixture("cascade", table, 0.25).prepare(problem)
    assert crowd.reward(None, shown, attraction) == pytest.approx(0.25 * 0.6 + 0.75 * 0.574)


def test_one_number_is_a_decay_with_the_distance_from_the_last_click() -> None:
    wanted = [[0, 0, 0, 1], [1, 0, 0, 0.5], [0.5, 1, 0, 0.25], [0.25, 0.5, 1, 0.125]]
    assert UBM(0.5).prepare(Problem(4, 4)).examination.tolist() == wanted
    assert UBM(0.5).prepare(Problem(4, 1)).examination.tolist() == [[1.0]]


def test_entries_that_are_not_used_may_be_anything() -> None:
    table = np.where(np.array(BROWSING) == 0, np.nan, BROWSING)
    assert UBM(table).prepare(Problem(4, 4)).examination.tolist() == BROWSING


WRONG: dict[str, tuple[Any, str]] = {
    "no probability": (CCM(1.5), "CCM's after_nothing is 1.5, but must be a number between 0 and 1"),
    "no number": (CCM(0.9, 0.8, [0.3, 0.2]), r"CCM's after_relevant is \[0.3, 0.2\]"),  # type: ignore[arg-type]
    "a wrong number": (UBM(1.5), "UBM's examination is 1.5, but must be a number between 0 and 1; give one number, or"),
    "no numbers": (UBM("much"), "UBM's examination is 'much', but must be numbers between 0 and 1"),
    "ragged": (UBM([[0.5], [0.5, 0.5]]), "UBM's examination is"),
    "a row": (UBM([0.5, 0.5, 0.5]), "must be a table of 3 x 3 probabilities; give one number, or a row per position"),
    "another page": (UBM(BROWSING), "must be a table of 3 x 3 probabilities"),
    "a wrong entry": (UBM([[0, 0, 1], [2, 0, 1], [1, 1, 1]]), r"UBM's examination\[1\]\[0\] is 2.0, but must be a pro"),
    "no share": (Mixture("cascade", "pbm", 1.5), "Mixture's share is 1.5, but must be a number between 0 and 1"),
    "no such kind": (Mixture("cascade", "casc"), "There is no click model 'casc', but there are"),
    "no kind": (Mixture(0.5, "pbm"), "Mixture's first is 0.5, but must be a click model or its name"),
    "a class": (Mixture("pbm", Cascade), r"Mixture's second is 'Cascade'.*write Cascade\(\) with its brackets"),
    "a wrong kind": (Mixture("cascade", "pbm(examination=2)"), r"PBM's examination\[0\] is 2.0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_in_a_sentence(case: str) -> None:
    users, message = WRONG[case]
    with pytest.raises(InvalidInput, match=message) as caught:
        users.prepare(Problem(5, 3))
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("kinds", "shares", "message"),
    [
        (["cascade", "pbm"], [0.5, 0.4], "mix's shares is .*, but must be 2 numbers that add up to 1"),
        (["cascade", "pbm", "dcm"], [0.5, 0.5], "but must be 3 numbers that add up to 1; give one for each of two"),
        (["cascade"], [1.0], "but must be 2 numbers that add up to 1"),
        ([], [], "but must be 2 numbers that add up to 1"),
        ("cascade", [1.0], "mix's kinds is 'cascade', but must be a sequence of click models"),
        (["cascade", "pbm"], [1.5, -0.5], r"mix's shares\[0\] is 1.5"),
    ],
)
def test_kinds_and_shares_that_do_not_fit_are_refused(kinds: Any, shares: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        mix(kinds, shares)


def test_kinds_without_a_share_can_be_mixed_in() -> None:
    crowd = mix(["cascade", "pbm", "dcm", "ccm"], [0.4, 0.6, 0.0, 0.0])
    assert (crowd.share, crowd.second.share) == (0.4, 1.0)
    assert mix(("cascade", "pbm"), (0.0, 1.0)) == Mixture("cascade", "pbm", 0.0)

"""The public interface of the ranker: lists, clicks, items added and removed, and everything refused."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import toplist
from toplist import InvalidInput, Ranker
from toplist.core.beliefs import array_bytes
from toplist.core.defaults import DEFAULT_POLICY
from toplist.parts.arrange import TopK
from toplist.parts.feedback import EveryPlace, ThroughFirstClick, UntilSatisfied
from toplist.parts.index import KLUCB, UCB1, Greedy
from toplist.parts.memory import Everything
from toplist.policies import Policy
from toplist.policies.fixed_list import ShowList
from toplist.ranker import AlreadyLearned, ForeignSlate, SlateRefused, TooManyOpen
from toplist.ranker.learner import Learner
from toplist.service.wire import RankingSpec

ITEMS = ["tea", "coffee", "milk", "water", "wine"]


class Frame:
    """Like a DataFrame: iterates over the names of its columns."""

    @property
    def columns(self) -> list[str]:
        return ["id", "title"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


def plain_ranker(items: Any = ITEMS, positions: int = 3, policy: Any = "cascade-ucb1", **more: Any) -> Ranker:
    """Not compiled: faster for a few lists."""
    return Ranker(items, positions, policy, compiled=False, **more)


def teach(ranker: Ranker, favourites: set[str], lists: int = 60, **limits: Any) -> None:
    for _ in range(lists):
        shown = ranker.rank(**limits)
        ranker.learn(shown, clicks=[item for item in shown if item in favourites][:1])


# Lists ----------------------------------------------------------------------------------------------------------------


def test_it_learns_from_clicks() -> None:
    ranker = Ranker(ITEMS, positions=2, policy="cascade-kl-ucb", seed=3)
    teach(ranker, {"wine"}, 200)
    assert ranker.rank().items[0] == "wine"
    assert ranker.learned == 200


def test_lists_hold_different_items_and_behave_like_sequences() -> None:
    shown = plain_ranker().rank()
    assert len(shown) == 3 == len(set(shown))
    assert list(shown) == list(shown.items) == [shown[0], shown[1], shown[2]]
    assert shown.number == 0
    assert all(item in repr(shown) for item in shown)


def test_equal_seeds_give_equal_lists_and_others_differ() -> None:
    def lists(seed: int) -> list[tuple[str, ...]]:
        ranker = plain_ranker(seed=seed)
        return [ranker.rank().items for _ in range(20)]

    assert lists(1) == lists(1)
    assert lists(1) != lists(2)


def test_only_eligible_items_are_shown_and_few_make_a_shorter_list() -> None:
    ranker = plain_ranker()
    for _ in range(20):
        assert set(ranker.rank(among=["tea", "milk"])) == {"tea", "milk"}
        assert "wine" not in ranker.rank(exclude=["wine"])
        assert set(ranker.rank(among=["tea", "milk", "wine"], exclude=["wine"])) == {"tea", "milk"}
        assert len(ranker.rank(positions=1)) == 1
    assert len(ranker.rank(among=[])) == 0


def test_pinned_items_stand_where_they_were_pinned() -> None:
    ranker = plain_ranker()
    for _ in range(20):
        shown = ranker.rank(pins={2: "wine"})
        assert shown[1] == "wine"
        assert len(set(shown)) == 3
        assert ranker.rank(among=["tea", "milk"], pins={1: "wine"})[0] == "wine"
        assert ranker.rank(pins={1: "wine"}, positions=1).items == ("wine",)


def test_pins_beyond_the_end_of_a_short_list_stand_at_its_end() -> None:
    ranker = plain_ranker()
    for _ in range(20):
        short = ranker.rank(among=["tea"], pins={3: "wine"})
        assert short.items == ("tea", "wine")
        assert short.pinned == (2,)
        assert ranker.rank(among=["tea"], pins={2: "milk", 3: "wine"}).items == ("tea", "milk", "wine")
        assert ranker.rank(among=[], pins={3: "wine", 2: "milk"}).items == ("milk", "wine")


def test_other_kinds_of_sequences_and_numbers_are_accepted() -> None:
    ranker = plain_ranker()
    int_: Any = np.int64
    shown = ranker.rank(among=iter(ITEMS), exclude=np.array(["wine"]), pins={int_(1): "tea"})
    assert shown[0] == "tea"
    json.dumps(shown.as_dict())
    assert set(ranker.rank(among=["tea"], exclude=None)) == {"tea"}  # type: ignore[arg-type]
    ranker.learn(shown, clicks=iter([1]), seen=iter([1, 2]))
    ranker.add(f"{item} again" for item in ranker.items)  # reads the ranker while it is changed
    ranker.remove(item for item in ranker.items if item.endswith("again"))
    assert ranker.items == ITEMS


def test_a_failure_leaves_no_list_open(monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = plain_ranker(open_slates=2)
    first = ranker.rank()

    def fails(*_: Any) -> None:
        raise RuntimeError("out of order")

    with monkeypatch.context() as patched:
        patched.setattr(Learner, "rank", fails)
        with pytest.raises(RuntimeError):
            ranker.rank()
    second = ranker.rank()
    assert second.number == 2
    for shown in (first, second):  # the third open list would have made it give up the first
        ranker.learn(shown, clicks=())


def test_a_list_is_learned_at_most_once_even_if_learning_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = plain_ranker()
    shown = ranker.rank()

    def fails(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Learner, "learn", fails)
        with pytest.raises(KeyboardInterrupt):
            ranker.learn(shown, clicks=[1])
    with pytest.raises(AlreadyLearned):
        ranker.learn(shown, clicks=[1])
    ranker.learn(ranker.rank(), clicks=[1])  # and the lock is free


def test_a_ranker_may_start_without_items() -> None:
    ranker = plain_ranker([], positions=2)
    empty = ranker.rank()
    assert empty.items == ()
    ranker.learn(empty, clicks=())
    ranker.add(["a", "b", "c"])
    assert set(ranker.rank()) < {"a", "b", "c"}


@pytest.mark.parametrize("names", [["", " ", "\n"], ["ä", "日本", "🎈"], ["\ud800", "\x00", "a" * 10_000]])
def test_any_text_is_a_name(names: list[str], tmp_path: Any) -> None:
    ranker = plain_ranker(names, positions=3)
    shown = ranker.rank()
    assert set(shown) == set(names)
    ranker.learn(ranker.shown(json.loads(json.dumps(shown.as_dict()))), clicks=[names[0]])
    ranker.save(tmp_path / "r.npz")
    assert Ranker.load(tmp_path / "r.npz", compiled=False).items == names
    assert names[0].split() == [] or names[0][:5] in str(ranker.estimates())


# Learning -------------------------------------------------------------------------------------------------------------


def counts(ranker: Ranker, item: str) -> tuple[float, float]:
    row = ranker.estimates()[item]
    return row["examined"], row["examined"] * (row["mean"] or 0.0)


def test_positions_and_items_name_the_same_clicks() -> None:
    one, other = plain_ranker(), plain_ranker()
    for ranker in (one, other):
        shown = ranker.rank()
        ranker.learn(shown, clicks=[2] if ranker is one else [shown[1]])
    for item in ITEMS:
        assert counts(one, item) == counts(other, item)
    assert sum(counts(one, item)[1] for item in ITEMS) == 1.0
    assert sum(counts(one, item)[0] for item in ITEMS) == 2.0  # up to the first click


@pytest.mark.parametrize("clicks", [[2, 2], (2,), {2}, [np.int64(2)], iter([2])])
def test_clicks_are_any_sequence_and_count_once(clicks: Any) -> None:
    ranker = plain_ranker()
    ranker.learn(ranker.rank(), clicks=clicks)
    assert sum(counts(ranker, item)[1] for item in ITEMS) == 1.0


def test_reported_views_are_used() -> None:
    by_place = Policy(EveryPlace(), Everything(), Greedy())
    ranker = plain_ranker(policy=by_place)
    shown = ranker.rank()
    ranker.learn(shown, clicks=[1], seen=[1, 2])
    assert [counts(ranker, item)[0] for item in shown] == [1.0, 1.0, 0.0]
    again = ranker.adopt(shown.items)
    ranker.learn(again, clicks=[], seen={1: 0.5, shown[2]: 0.25})
    assert [counts(ranker, item)[0] for item in shown] == [1.5, 1.0, 0.25]

    left = plain_ranker(policy=Policy(UntilSatisfied(), Everything(), Greedy()))
    shown = left.rank()
    left.learn(shown, clicks=[1], left=2)
    assert [counts(left, item)[0] for item in shown] == [1.0, 1.0, 0.0]


def test_a_position_in_view_is_named_once() -> None:
    ranker = plain_ranker()
    shown = ranker.rank()
    with pytest.raises(InvalidInput, match="must be each position once"):
        ranker.learn(shown, clicks=(), seen={1: 0.5, shown[0]: 0.9})


def test_lists_may_be_learned_late_and_out_of_order() -> None:
    ranker = plain_ranker()
    shown = [ranker.rank() for _ in range(5)]
    for late in reversed(shown):
        ranker.learn(late, clicks=[1])
    assert ranker.learned == 5
    assert sum(counts(ranker, item)[1] for item in ITEMS) == 5.0


def test_an_adopted_list_is_learned_like_any_other() -> None:
    ranker = plain_ranker(policy="dcm-kl-ucb")
    adopted = ranker.adopt(["wine", "tea"])
    assert adopted.items == ("wine", "tea")
    ranker.learn(adopted, clicks=["tea"])
    assert counts(ranker, "wine") == (1.0, 0.0)
    assert counts(ranker, "tea") == (1.0, 1.0)


def test_ranking_does_not_change_the_belief() -> None:
    ranker = plain_ranker()
    teach(ranker, {"tea"}, 10)
    before = array_bytes(ranker.belief)
    for _ in range(10):
        ranker.rank()
    assert array_bytes(ranker.belief) == before


# What is refused ------------------------------------------------------------------------------------------------------


def test_a_list_is_learned_once() -> None:
    ranker = plain_ranker()
    shown = ranker.rank()
    ranker.learn(shown, clicks=())
    before = array_bytes(ranker.belief)
    with pytest.raises(AlreadyLearned, match="List 0 was learned already; learn each list once"):
        ranker.learn(shown, clicks=[1])
    assert array_bytes(ranker.belief) == before


def test_a_list_of_another_ranker_is_refused() -> None:
    one, other = plain_ranker(name="one"), plain_ranker(name="other")
    with pytest.raises(ForeignSlate, match="List 0 was made by the ranker 'one', but this one is 'other'"):
        other.learn(one.rank(), clicks=())
    with pytest.raises(ForeignSlate, match="was made by the ranker 'one'"):
        other.shown(one.rank().as_dict())
    namesake = plain_ranker(name="one")
    with pytest.raises(ForeignSlate, match="by another ranker that is also called 'one'; load that ranker"):
        namesake.learn(one.rank(), clicks=())
    with pytest.raises(ForeignSlate):
        namesake.explain(one.rank())
    with pytest.raises(InvalidInput, match="The list is 'tea'"):
        one.explain("tea")  # type: ignore[arg-type]


def test_a_list_is_given_up_when_too_many_are_open() -> None:
    ranker = plain_ranker(open_slates=2)
    first, second, third = ranker.rank(), ranker.rank(), ranker.rank()
    with pytest.raises(TooManyOpen, match="List 0 was given up, because more than 2 lists were open after it"):
        ranker.learn(first, clicks=())
    ranker.learn(third, clicks=())
    ranker.learn(second, clicks=())
    with pytest.raises(AlreadyLearned):
        ranker.learn(second, clicks=())


def test_lists_that_are_learned_do_not_count_as_open() -> None:
    ranker = plain_ranker(open_slates=2)
    first = ranker.rank()
    for _ in range(10):
        ranker.learn(ranker.rank(), clicks=())
    ranker.learn(first, clicks=[1])
    assert ranker.learned == 11


def test_lists_given_up_long_ago_are_never_taken_for_learned() -> None:
    ranker = plain_ranker(open_slates=2)
    many = [ranker.rank() for _ in range(20)]
    for old in many[:18]:
        with pytest.raises(SlateRefused, match="given up"):
            ranker.learn(old, clicks=())
    for fresh in many[18:]:
        ranker.learn(fresh, clicks=())


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ({"clicks": [0]}, "A click is 0, but must be a position between 1 and 3"),
        ({"clicks": [4]}, "must be a position between 1 and 3"),
        ({"clicks": [True]}, "A click is True"),
        ({"clicks": [1.5]}, "A click is 1.5"),
        ({"clicks": [None]}, "A click is None"),
        ({"clicks": "tea"}, r"must be a sequence of positions or items; write \['tea'\] for one"),
        ({"clicks": 2}, r"write \[2\] for one"),
        ({"clicks": ["beer"]}, "A click is 'beer', but must be an item of the list; the list holds"),
        ({"clicks": (), "left": 4}, "left is 4"),
        ({"clicks": (), "seen": [9]}, "An entry of seen is 9"),
        ({"clicks": (), "seen": {1: 1.5}}, r"seen\[1\] is 1.5, but must be a number between 0 and 1"),
        ({"clicks": (), "seen": {1: float("nan")}}, r"seen\[1\] is nan"),
    ],
)
def test_a_wrong_page_changes_nothing(page: dict[str, Any], message: str) -> None:
    ranker = plain_ranker()
    shown = ranker.rank()
    with pytest.raises(InvalidInput, match=message):
        ranker.learn(shown, **page)
    assert ranker.learned == 0
    assert array_bytes(ranker.belief) == toplist.core.beliefs.array_bytes(plain_ranker().belief)
    ranker.learn(shown, clicks=[1])  # it is still open


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.rank(among=["beer"]), "An item of among is 'beer', but must be one of the ranker's items"),
        (lambda r: r.rank(among=["cofee"]), "perhaps you mean 'coffee'"),
        (lambda r: r.rank(among="tea"), r"write \['tea'\] for one, \[\] for none"),
        (lambda r: r.rank(among=["tea", "tea"]), "must be different items; name 'tea' once"),
        (lambda r: r.rank(exclude=["milk", "tea", "milk"]), "must be different items; name 'milk' once"),
        (lambda r: r.rank(exclude=["beer"]), "An item of exclude is 'beer'"),
        (lambda r: r.rank(positions=0), "positions is 0"),
        (lambda r: r.rank(positions=4), "positions is 4, but must be at most 3"),
        (lambda r: r.rank(pins={4: "tea"}), "A pinned position is 4"),
        (lambda r: r.rank(pins={0: "tea"}), "A pinned position is 0"),
        (lambda r: r.rank(pins={1: "beer"}), "An item of pins is 'beer'"),
        (lambda r: r.rank(pins={1: "tea", 2: "tea"}), "name 'tea' once"),
        (lambda r: r.rank(pins=["tea"]), "pins is"),
        (lambda r: r.rank(pins={1: "tea"}, exclude=["tea"]), "without the pinned items"),
        (lambda r: r.adopt(["tea", "beer"]), "An item of the adopted list is 'beer'"),
        (lambda r: r.adopt(ITEMS), "at most 3 items"),
        (lambda r: r.learn(["tea"], clicks=[1]), "The list is"),
        (lambda r: r.add("tea"), "The ranker already has an item 'tea'; choose another name"),
        (lambda r: r.add(["a", "a"]), "The item 'a' is given twice; give each item once"),
        (lambda r: r.add(7.0), r"items is 7.0, but must be a sequence of names"),
        (lambda r: r.add(True), "items is True, but must be a sequence of names"),
        (lambda r: r.add(None), r"items is None, but must be a sequence of names; write \[\] for none\."),
        (lambda r: r.add([7.0]), "An item is 7.0, but must be text or a whole number .*; write 7 or '7.0'"),
        (lambda r: r.add([True]), "An item is True, but must be text or a whole number .*; write it as text"),
        (lambda r: r.add([2**53]), "An item is 9007199254740992, but must be .*; write '9007199254740992'"),
        (lambda r: r.add({"beer": 1}), r"items is {'beer': 1}, .*; write list\(items\) for its keys"),
        (
            lambda r: r.rank(among=Frame()),
            r"among is a Frame, but must be a sequence of items; .* list\(frame\['id'\]\)",
        ),
        (lambda r: r.add("a", prior_mean=2), "prior_mean is 2"),
        (lambda r: r.add("a", prior_strength=-1), "prior_strength is -1"),
        (lambda r: r.remove("beer"), "is 'beer', but must be one of the ranker's items; leave it out, or add it first"),
        (lambda r: r.shown({}), "The list is {}"),
        (lambda r: r.shown("x"), "keep the whole dict"),
        (lambda r: r.estimates()["beer"], "The item is 'beer', but must be in the table"),
    ],
)
def test_the_error_of_a_wrong_call_says_what_to_do_and_nothing_changes(call: Any, message: str) -> None:
    ranker = plain_ranker()
    with pytest.raises(InvalidInput, match=message):
        call(ranker)
    assert ranker.items == ITEMS
    assert ranker.rank().number == 0  # not even a list was counted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"items": "tea"}, r"write \['tea'\] for one"),
        (
            {"items": {"tea": [1, 0]}},
            r"items is {'tea': \[1, 0\]}, but must be a sequence of names; write list\(items\)",
        ),
        (
            {"items": Frame()},
            r"items is a Frame, but must be a sequence of names; give one of its columns, like list\(frame\['id'\]\)\.",
        ),
        ({"items": ["a", "a"]}, "The item 'a' is given twice"),
        ({"items": [1.5]}, "An item is 1.5, but must be text or a whole number .*; write '1.5'"),
        ({"positions": 0}, "The number of positions is 0"),
        ({"policy": "cascade-ucb"}, "perhaps you mean 'cascade-ucb1'"),
        ({"policy": Policy}, r"write Policy\(\) with its brackets"),
        ({"seed": -1}, "The seed is -1"),
        ({"seed": 2**63}, r"below 2\*\*63"),
        ({"steps": 0}, "The number of steps is 0"),
        ({"new_per_list": -1}, "new_per_list is -1"),
        ({"open_slates": 0}, "open_slates is 0"),
        ({"name": 5}, "The ranker's name is 5"),
        ({"policy": "best"}, "best needs the true best list, which only a simulation has"),
        ({"policy": "ranked-exp3"}, "the number of steps is unknown"),
    ],
)
def test_a_wrong_ranker_is_refused(arguments: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"items": ITEMS, "positions": 3}
    with pytest.raises(InvalidInput, match=message):
        Ranker(**(usual | arguments))


# Capabilities ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.add("beer"), "cannot add items; make a new ranker"),
        (lambda r: r.remove("tea"), "always shows all of its items; make a new ranker"),
        (lambda r: r.rank(among=["tea", "milk"]), "takes no subsets of its items"),
        (lambda r: r.rank(exclude=["tea"]), "takes no subsets of its items"),
        (lambda r: r.adopt(["tea", "milk", "wine"]), "learns from its own lists only"),
    ],
)
def test_a_policy_that_cannot_says_so_in_one_sentence(call: Any, message: str) -> None:
    ranker = plain_ranker(policy="ranked-exp3(exploration=0.1)")
    with pytest.raises(InvalidInput, match=rf"^The policy ranked-exp3\(exploration=0.1\) {message}[^.]*\.$"):
        call(ranker)
    assert len(ranker.rank()) == 3


def test_other_refusals_of_a_policy() -> None:
    with pytest.raises(InvalidInput, match="takes no prior"):
        plain_ranker(policy="ranked-exp3(exploration=0.1)", prior_strength=1)
    with pytest.raises(InvalidInput, match="leave new_per_list out"):
        plain_ranker(policy="ranked-exp3(exploration=0.1)", new_per_list=1)
    with pytest.raises(InvalidInput, match="needs items for all of its 3 positions, not 2"):
        plain_ranker(["a", "b"], policy="ranked-exp3(exploration=0.1)")
    fixed = plain_ranker(policy=ShowList([3, 0, 2]))
    assert fixed.rank().items == ("water", "tea", "milk")
    assert fixed.rank(positions=2).items == ("water", "tea")
    with pytest.raises(InvalidInput, match="takes no pins"):
        fixed.rank(pins={1: "wine"})
    assert fixed.explain(fixed.rank()).rows()[0]["why"] == "chosen by the policy, which gives no reasons"
    assert fixed.estimates().title == "5 items, 0 lists learned; the policy gives no estimates"


def test_exp3_gets_the_number_of_lists_from_steps() -> None:
    ranker = plain_ranker(policy="ranked-exp3", steps=1000)
    teach(ranker, {"tea"}, 30)
    assert ranker.learned == 30


# Items added and removed ----------------------------------------------------------------------------------------------


def test_new_items_are_optimistic() -> None:
    ranker = plain_ranker()
    teach(ranker, {"tea"}, 50)
    ranker.add("beer")
    assert ranker.rank()[0] == "beer"
    assert ranker.estimates()["beer"]["index"] == float("inf")


def test_a_prior_counts_as_examinations() -> None:
    ranker = plain_ranker(prior_mean=0.2, prior_strength=10)
    assert counts(ranker, "tea") == (10.0, 2.0)
    ranker.add("beer", prior_mean=0.0, prior_strength=100)
    assert counts(ranker, "beer") == (100.0, 0.0)
    ranker.add("rum", prior_strength=0)
    assert ranker.rank()[0] == "rum"
    ranked = plain_ranker(policy="ranked-ucb1", prior_mean=0.5, prior_strength=4)
    assert counts(ranked, "tea") == (12.0, 6.0)  # at each of three positions


def test_new_items_do_not_flood_the_page() -> None:
    ranker = plain_ranker(positions=4, new_per_list=1, policy="dcm-kl-ucb")
    assert len(ranker.rank()) == 4  # all are new, and still fill the list
    for _ in range(5):
        ranker.learn(ranker.rank(), clicks=())
    new = [f"new {n}" for n in range(1000)]
    ranker.add(new)
    carried = set()
    for _ in range(50):
        shown = ranker.rank()
        assert len(shown) == 4
        carried |= set(shown) & set(new)
        assert len(set(shown) & set(new)) == 1
        assert len(set(ranker.rank(pins={2: "new 7"})) & set(new)) == 1
        assert len(set(ranker.rank(pins={2: "new 7", 3: "new 8"})) & set(new)) == 2
    assert len(carried) > 40  # drawn at random, not always the same
    shown = ranker.rank()
    ranker.learn(shown, clicks=())
    assert set(ranker.rank()) & set(new) - set(shown)  # the next one gets its turn


def test_a_reused_slot_holds_a_new_item() -> None:
    ranker = plain_ranker(["a", "b", "c", "d"], positions=2, new_per_list=0)
    for _ in range(10):
        ranker.learn(ranker.rank(), clicks=())
    ranker.remove("d")
    ranker.add("e")
    assert "e" not in ranker.rank()


def test_an_item_below_the_click_stays_new() -> None:
    ranker = plain_ranker(new_per_list=0, policy="cascade-kl-ucb")
    shown = ranker.rank()
    ranker.learn(shown, clicks=[1])
    assert ranker.rank(positions=1).items == shown.items[:1]  # the only examined item fills it, and new ones are out


def test_removed_items_are_never_shown_and_late_clicks_on_them_change_no_other_item() -> None:
    ranker, other = plain_ranker(policy="dcm-kl-ucb"), plain_ranker(policy="dcm-kl-ucb")
    late, later = ranker.rank(pins={1: "tea"}), other.rank(pins={1: "tea"})
    assert late.items == later.items
    ranker.remove("tea")
    assert "tea" not in ranker
    for _ in range(20):
        assert "tea" not in ranker.rank()
    ranker.learn(late, clicks=["tea", 2])
    other.learn(later, clicks=["tea", 2])
    for item in set(ITEMS) - {"tea"}:
        assert counts(ranker, item) == counts(other, item)
    with pytest.raises(InvalidInput, match="'tea', but must be one of the ranker's items"):
        ranker.rank(among=["tea"])
    with pytest.raises(InvalidInput):
        ranker.remove("tea")


def test_an_item_added_again_starts_from_nothing_and_late_clicks_do_not_count_for_it() -> None:
    ranker = plain_ranker(policy="dcm-kl-ucb")
    teach(ranker, {"tea"}, 30)
    late = ranker.rank(pins={1: "tea"})
    ranker.remove("tea")
    ranker.add("tea")
    assert counts(ranker, "tea") == (0.0, 0.0)
    ranker.learn(late, clicks=["tea"])
    assert counts(ranker, "tea") == (0.0, 0.0)


def test_slots_are_reused_but_not_while_an_open_list_refers_to_them() -> None:
    ranker = plain_ranker(["a", "b"], positions=2)
    waiting = ranker.rank()
    for n in range(40):
        ranker.add(f"x{n}")
        ranker.remove(f"x{n}")
    capacity = len(ranker.belief.examined)
    assert capacity >= 42
    ranker.learn(waiting, clicks=["a"])
    for n in range(500):
        ranker.add(f"y{n}")
        ranker.learn(ranker.rank(), clicks=())
        ranker.remove(f"y{n}")
    assert len(ranker.belief.examined) == capacity
    assert ranker.items == ["a", "b"]
    assert counts(ranker, "a")[1] == 1.0


def test_adding_many_items_keeps_what_was_learned() -> None:
    ranker = plain_ranker(policy="ranked-kl-ucb")
    teach(ranker, {"tea"}, 30)
    before = {item: counts(ranker, item) for item in ITEMS}
    ranker.add([f"item {n}" for n in range(300)])
    assert {item: counts(ranker, item) for item in ITEMS} == before
    assert len(ranker) == 305


# Tables ---------------------------------------------------------------------------------------------------------------


def test_estimates_follow_from_the_clicks() -> None:
    ranker = plain_ranker(policy=Policy(ThroughFirstClick(), Everything(), UCB1(2.0)))
    for _ in range(10):
        ranker.learn(ranker.adopt(["tea", "milk"]), clicks=["tea"])
    for _ in range(30):
        ranker.learn(ranker.adopt(["tea", "milk"]), clicks=["milk"])
    table = ranker.estimates()
    tea = table["tea"]
    assert (tea["examined"], tea["mean"]) == (40.0, 0.25)
    assert tea["index"] == pytest.approx(0.25 + np.sqrt(2.0 * np.log(40) / 40))
    assert (tea["low"], tea["high"]) == (pytest.approx(0.1419, abs=1e-4), pytest.approx(0.4019, abs=1e-4))
    assert table["wine"] == {
        "item": "wine", "examined": 0.0, "mean": None, "low": 0.0, "high": 1.0, "index": float("inf")
    }  # fmt: skip
    assert [row["item"] for row in table][-1] == "tea"  # the largest index first
    assert table.title == "5 items, 40 lists learned; means as the policy reads clicks"
    assert list(table.to_frame().columns) == ["item", "examined", "mean", "low", "high", "index"]


def test_the_exact_index_orders_items_as_the_lists_do() -> None:
    """`exact` and the lazy scan give the same order."""
    ranker = plain_ranker([f"i{n}" for n in range(12)], positions=4, policy=Policy(EveryPlace(), Everything(), KLUCB()))
    for n in range(60):
        ranker.learn(ranker.rank(), clicks=[1 + n % 4] if n % 3 else [])
    best = [row["item"] for row in ranker.estimates()][:4]
    index = [row["index"] for row in ranker.estimates()]
    assert len(set(index[:5])) == 5  # no ties, else the order would be chance
    assert list(ranker.rank()) == best


def test_explanations_say_why() -> None:
    ranker = plain_ranker(policy="dcm-kl-ucb")
    teach(ranker, {"tea"}, 40)
    shown = ranker.rank(pins={3: "wine"})
    first, _, third = ranker.explain(shown).rows()
    assert first["item"] == shown[0]
    assert first["bonus"] == pytest.approx(first["index"] - first["mean"])
    assert first["why"] == "index number 1 of 5 eligible"
    assert third["why"] == "pinned here by the caller"
    assert "lists later" not in str(ranker.explain(shown))
    ranker.rank()  # an open list, so that the slot is not reused
    ranker.learn(shown, clicks=())
    ranker.remove("wine")
    assert ranker.explain(shown).rows()[2]["why"] == "removed since"
    ranker.add("wine")
    assert ranker.explain(shown).rows()[2]["why"] == "removed and added again since"
    ranker.remove("wine")
    assert ranker.explain(shown).rows()[0]["why"] == "index number 1 of 4 eligible"  # of the remaining items
    some = ranker.rank(among=["tea", "milk", "water"])
    assert ranker.explain(some).rows()[2]["why"] == "index number 3 of 3 eligible"
    assert ranker.explain(ranker.shown(some.as_dict())).rows()[2]["why"] == "by its index"
    assert "with current numbers, 1 list later" in str(ranker.explain(shown))
    ranker.add("rum")
    assert ranker.explain(ranker.rank()).rows()[0]["why"] == "never examined, so it goes before all examined items"
    assert ranker.explain(ranker.adopt(["tea"])).rows()[0]["why"] == "adopted: the caller chose it"
    chance = plain_ranker(policy="random")
    assert chance.explain(chance.rank()).rows()[0]["why"] == "drawn by chance"


def test_thompson_sampling_explains_its_draws() -> None:
    ranker = plain_ranker(policy="dcm-ts", seed=1)
    teach(ranker, {"tea"}, 40)
    shown = ranker.rank()
    first = ranker.explain(shown).rows()[0]
    tea = ranker.estimates()["tea"]
    assert (first["item"], first["index"], first["bonus"]) == ("tea", None, None)
    mostly = f"its random draw, mostly {tea['low']:.2f} to {tea['high']:.2f}, is among the largest"
    assert first["why"] == f"{mostly} of 5 eligible"
    assert ranker.explain(ranker.shown(shown.as_dict())).rows()[0]["why"] == mostly
    new = plain_ranker(policy="pbm-ts")
    assert new.explain(new.rank()).rows()[0]["why"] == "never examined, so its random draw may be anything from 0 to 1"


def test_estimates_without_an_index_are_sorted_by_mean() -> None:
    ranker = plain_ranker(policy="dcm-ts", seed=1)
    teach(ranker, {"tea", "milk"}, 60)
    means = [row["mean"] for row in ranker.estimates()]
    assert means == sorted(means, reverse=True)
    assert means[0] > means[-1]


def test_the_default_policy_takes_every_request() -> None:
    ranker = Ranker(ITEMS, 3, compiled=False)
    assert f" with {DEFAULT_POLICY}: " in repr(ranker)
    shown = ranker.rank(among=["tea", "milk", "wine"], pins={2: "wine"})
    assert shown[1] == "wine"
    ranker.rank()
    ranker.learn(shown, clicks=[1])  # after a later list
    ranker.learn(ranker.adopt(["water", "tea"]), clicks=["tea"])
    ranker.add("rum")
    assert "rum" in ranker.rank(pins={1: "rum"})
    assert RankingSpec(name="page", positions=3).policy == DEFAULT_POLICY


def test_ranked_bandits_explain_their_draws() -> None:
    ranker = plain_ranker(["a", "b", "c"], policy="ranked-exp3(exploration=1)", seed=1)
    reasons = [row["why"] for _ in range(20) for row in ranker.explain(ranker.rank())]
    assert "drawn with the index as probability" in reasons
    assert "drawn at random: the item proposed for this position stands above" in reasons
    assert ranker.explain(ranker.rank()).rows()[0]["index"] == pytest.approx(1 / 3)
    remaining = plain_ranker(policy="ranked-exp3(exploration=1, collision=remaining)")
    rows = remaining.explain(remaining.rank()).rows()
    assert [row["index"] for row in rows] == pytest.approx([1 / 5, 1 / 4, 1 / 3])
    bandits = plain_ranker(policy="ranked-ucb1")
    teach(bandits, {"tea"}, 100)
    whys = [row["why"] for row in bandits.explain(bandits.rank())]
    assert whys == [f"index number 1 of {left} left for this position" for left in (5, 4, 3)]


def test_it_has_a_repr_a_length_and_capabilities() -> None:
    ranker = plain_ranker(name="drinks")
    assert repr(ranker) == "<Ranker drinks with cascade-ucb1: 5 items, 3 positions, 0 lists learned>"
    assert (len(ranker), "tea" in ranker, "beer" in ranker) == (5, True, False)
    assert ranker.capabilities.adds_items
    assert issubclass(TooManyOpen, SlateRefused)
    assert issubclass(SlateRefused, InvalidInput)


def test_the_order_of_positions_is_respected() -> None:
    last = plain_ranker(policy=Policy(EveryPlace(), Everything(), Greedy(), TopK("last")))
    for item, clicks in (("tea", [1]), ("milk", ()), ("water", ()), ("wine", ()), ("coffee", ())):
        last.learn(last.adopt([item]), clicks)
    assert last.rank()[2] == "tea"

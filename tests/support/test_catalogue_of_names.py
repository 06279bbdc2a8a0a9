"""Names of policies, worlds, users and starts: one rule for all."""

import pytest

import toplist
from toplist.engine import starts
from toplist.support import catalogue
from toplist.support.catalogue import (
    POLICIES,
    REQUIRED,
    STARTS,
    USERS,
    WORLDS,
    call_text,
    parse,
    parse_values,
    part_text,
)

ALL = {"policies": POLICIES, "worlds": WORLDS, "users": USERS, "starts": STARTS}


def test_entries_are_found_by_name_without_imported_ones() -> None:
    assert set(WORLDS.entries()) >= {"b-lb", "b-top-k", "fixed"}
    assert set(USERS.entries()) >= {"cascade", "dbn", "dcm"}
    assert set(STARTS.entries()) >= {"forced", "never-seen-first", "one-sample"}
    assert "dcm" not in WORLDS.entries()  # worlds.fixed imports it


@pytest.mark.parametrize("catalogue", ALL.values(), ids=ALL)
def test_every_entry_has_a_summary_and_can_be_made_from_its_own_text(catalogue: catalogue.Catalogue) -> None:
    for name, entry in catalogue.entries().items():
        assert entry.title
        assert entry.summary.endswith(".")
        if REQUIRED not in entry.parameters.values():
            assert repr(catalogue.make(call_text(name, entry.parameters))) == repr(catalogue.make(name))


def test_fields_that_prepare_fills_are_hidden() -> None:
    assert list(USERS.entries()["dcm"].parameters) == ["termination"]
    assert all(not entry.parameters for entry in STARTS.entries().values())
    with pytest.raises(toplist.InvalidInput, match="dcm has no parameter 'order', but has termination; leave it out"):
        USERS.make("dcm(order=[1])")
    with pytest.raises(toplist.InvalidInput, match=r"^forced has no parameters; leave 'a' out\.$"):
        STARTS.make("forced(a=1)")


def test_a_policy_in_a_file_must_be_imported() -> None:
    message = r"^There is no policy 'eps\.py:Eps', .*; in Python, import Eps and give Eps\(\) itself\.$"
    for text in ("eps.py:Eps", "eps.py:Eps(share=0.1)"):
        with pytest.raises(toplist.InvalidInput, match=message):
            toplist.Ranker(["a"], 1, text)


def test_defaults_are_the_papers_problem() -> None:
    world, users = WORLDS.make("b-lb(items=20)")
    assert (len(world.attraction), world.positions, users.termination) == (20, 4, 0.5)
    fixed = WORLDS.make("fixed(attraction=[0.9, 0.5], positions=1)")
    assert (fixed.attraction, fixed.positions) == ([0.9, 0.5], 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fixed(positions=1)", r"fixed needs attraction; write fixed\(attraction=..., positions=...\)"),
        ("fixed", "fixed needs attraction and positions"),
        ("b-lbb", "There is no world 'b-lbb', but there are .*; perhaps you mean 'b-lb'"),
        ("b-lb(item=3)", "b-lb has no parameter 'item', but has items, .*; perhaps you mean 'items'"),
        ("b-lb(items=3, items=4)", "The world is .* but must be a name or a name with parameters; write it like 'b-lb"),
    ],
)
def test_errors_say_what_to_do(text: str, message: str) -> None:
    with pytest.raises(toplist.InvalidInput, match=message):
        WORLDS.make(text)


@pytest.mark.parametrize(
    "text",
    [
        "a(1)",
        "a(b=1",
        "a(b=1)(c=2)",
        "a(b=c())",
        "a(b=1, b=2)",
        "a(**{})",
        "a(b={[]: 1})",
        "a(b=" + "(" * 500,
        "a(b=-c)",
    ],
)
def test_only_names_with_plain_values_are_parsed(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a name|has no name|cannot be parsed|not a plain value|malformed"):
        parse(text)


def test_words_need_no_quotes() -> None:
    assert parse("a(b=last, c='last', d=[1, 2], e=None, f=-1.5)") == (
        "a",
        {"b": "last", "c": "last", "d": [1, 2], "e": None, "f": -1.5},
    )
    assert parse_values("first,last") == ["first", "last"]
    with pytest.raises(ValueError, match="is not a sequence of values"):
        parse_values("1], [2")


def test_parse_inverts_call_text() -> None:
    parameters = {"scale": 0.5, "order": [2, 1], "name": "it's"}
    assert parse(call_text("a-b", parameters)) == ("a-b", parameters)
    assert call_text("a", {}) == "a"


def test_two_entries_of_one_name_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_sample() -> None:
        """Another."""

    one_sample.__module__ = starts.__name__
    monkeypatch.setattr(starts, "another", catalogue.entry("Another")(one_sample), raising=False)
    catalogue.entries_of.cache_clear()
    try:
        with pytest.raises(TypeError, match=r"two entries of toplist\.engine\.starts are called 'one-sample'"):
            STARTS.entries()
    finally:
        catalogue.entries_of.cache_clear()


def test_parts_print_as_python_code() -> None:
    policy = toplist.make("ranked-exp3(exploration=0.2)")
    assert part_text(policy) == (
        "Ranked(EveryPlace(), ExponentialWeights(exploration=0.2), ExploringDraw(), collision='random')"
    )
    assert part_text(policy.prepare(toplist.Problem(5, 2, 0, 9)).memory, shown=["exploration"]).startswith(
        "Exponential"
    )
    assert part_text([1, 2]) == "[1, 2]"

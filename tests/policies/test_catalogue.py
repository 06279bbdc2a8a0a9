"""The catalogue: every policy is found, documented, and made from its name."""

import inspect

import pytest

import toplist
from toplist.core.problem import Problem
from toplist.policies import Policy, Ranked, ShowList, catalogue, make

WANTED = {
    "cascade-ucb1", "cascade-kl-ucb", "dcm-kl-ucb", "first-click", "last-click", "ranked-kl-ucb", "ranked-ucb1",
    "ranked-exp3", "random", "best",
}  # fmt: skip


def test_everything_is_there() -> None:
    assert set(catalogue()) >= WANTED
    assert list(catalogue()) == sorted(catalogue())


@pytest.mark.parametrize("name", catalogue())
def test_every_entry_is_documented_and_can_be_made(name: str) -> None:
    entry = catalogue()[name]
    assert entry.title
    assert entry.summary.endswith(".")
    text = inspect.getdoc(entry.build) or ""
    assert len(text.splitlines()) > 2  # the rule and where it comes from
    if entry.paper:
        assert any(str(year) in text for year in range(2002, 2027))
    policy = entry.make(**entry.parameters)
    assert repr(policy) == repr(make(name))  # equal tuples may be of different classes
    features = 4 if policy.capabilities().needs_features else 0
    assert policy.prepare(Problem(9, 3, features, 100)).capabilities().learns == (name not in ("random", "best"))


def test_policies_for_changing_users_declare_that_they_forget() -> None:
    forgetting = {name for name, entry in catalogue().items() if entry.make().capabilities().forgets}
    endings = ("ducb", "swucb", "discounted", "windowed", "resetting", "cusum")
    assert forgetting == {name for name in catalogue() if name.endswith(endings) or name.startswith("glrt-")}


def test_parameters_are_plain_literals() -> None:
    assert make(" dcm-kl-ucb( loglog = 1.5, order=[3, 1, 2] ) ").scoring.loglog == 1.5
    assert make("dcm-kl-ucb(order=[3,1,2])").arrangement.order == [3, 1, 2]
    assert repr(make("dcm-kl-ucb()")) == repr(make("dcm-kl-ucb"))
    assert make("ranked-exp3(exploration=0.1)").memory.exploration == 0.1


@pytest.mark.parametrize(
    "text", ["cascade-ucb1(scale=open('x'))", "cascade-ucb1(scale=1", "cascade-ucb1(**{})", "x(1)"]
)
def test_nothing_but_literals_is_read(text: str) -> None:
    with pytest.raises(toplist.InvalidInput):
        make(text)


def test_a_policy_is_returned_unchanged() -> None:
    policy = make("cascade-ucb1")
    assert make(policy) is policy
    assert isinstance(policy, Policy)
    assert isinstance(make("ranked-ucb1"), Ranked)
    assert isinstance(make("best"), ShowList)

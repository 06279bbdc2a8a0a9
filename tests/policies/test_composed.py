"""A policy made of parts: it refuses parts of the wrong kind, and is an ordinary NamedTuple otherwise."""

import copy
import importlib
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from toplist import InvalidInput
from toplist.core.slate import empty_page
from toplist.parts.arrange import TopK
from toplist.parts.feedback import ThroughFirstClick
from toplist.parts.index import KLUCB, UCB1
from toplist.parts.memory import Everything
from toplist.policies import Policy, make

READING, MEMORY, INDEX = ThroughFirstClick(), Everything(), UCB1(2.0)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            (1, 2, 3),
            "The reading is 1, but must be a reading, like ThroughFirstClick(); it has no prepare(). "
            "The memory is 2, but must be a memory, like Everything(); it has no prepare(). "
            "The index is 3, but must be an index, like KLUCB(); it has no prepare().",
        ),
        (
            (ThroughFirstClick, MEMORY, INDEX),
            "The reading is 'ThroughFirstClick', but must be a reading, like ThroughFirstClick(); "
            "write ThroughFirstClick() with its brackets.",
        ),
        (
            (READING, MEMORY, INDEX, "first"),
            "The arrangement is 'first', but must be an arrangement, like TopK(); it has no prepare().",
        ),
    ],
)
def test_parts_of_the_wrong_kind_are_refused_when_the_policy_is_made(parts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Policy(*parts)
    assert str(refused.value) == message


def test_a_policy_is_an_ordinary_named_tuple() -> None:
    policy = Policy(READING, MEMORY, INDEX, arrangement=TopK("last"))
    for same in (
        pickle.loads(pickle.dumps(policy)),
        copy.deepcopy(policy),
        Policy._make(policy),
        Policy(**policy._asdict()),
        policy._replace(scoring=KLUCB())._replace(scoring=INDEX),
    ):
        assert type(same) is Policy
        assert repr(same) == repr(policy)
    assert Policy._fields == ("reading", "memory", "scoring", "arrangement")
    assert isinstance(Policy(READING, MEMORY, INDEX).arrangement, TopK)


LOOP = """
from toplist.core.compiling import compiled

@compiled
def examined(policy, page):
    policy.reading.read(page, 4)
    return page.weight.sum()
"""


def test_code_compiled_for_a_policy_is_cached_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is imported again, as in a new process; `tests/core/test_compiling.py` starts new processes."""
    (tmp_path / "examining_loop.py").write_text(LOOP)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TOPLIST_CACHE_DIR", str(tmp_path / "cache"))
    for hits in (0, 1):
        examined = importlib.import_module("examining_loop").examined
        del sys.modules["examining_loop"]
        assert examined(make("cascade-ucb1"), empty_page(4)) == 4.0
        assert sum(examined.stats.cache_hits.values()) == hits

"""A policy made of parts: it refuses parts of the wrong kind, and is an ordinary NamedTuple otherwise."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toplist import InvalidInput
from toplist.parts.arrange import TopK
from toplist.parts.feedback import ThroughFirstClick
from toplist.parts.index import KLUCB, UCB1
from toplist.parts.memory import Everything
from toplist.policies import Policy

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


PROGRAM = """
import toplist.core.protocols
from loop import examined
from toplist.core.slate import empty_page
from toplist.policies import make
print(examined(make("cascade-ucb1"), empty_page(4)), sum(examined.stats.cache_hits.values()))
"""
LOOP = """
from toplist.core.compiling import compiled

@compiled
def examined(policy, page):
    policy.reading.read(page, 4)
    return page.weight.sum()
"""


def test_code_compiled_for_a_policy_is_cached_on_disk(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"TOPLIST_CACHE_DIR": str(tmp_path / "cache")}
    for hits in (0, 1):
        done = subprocess.run(
            [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["4.0", str(hits)]

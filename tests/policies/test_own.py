"""Policies of one's own in the catalogue: from files and from installed packages."""

import subprocess
import sys
from pathlib import Path

import pytest

from toplist.core.problem import InvalidInput
from toplist.policies.own import OwnSources, load_own_policies, loaded_sources

MINE = '''
"""A policy of one's own."""
from toplist.parts import UCB1, Everything, ThroughLastClick
from toplist.policies import Policy, entry


@entry("Mine")
def mine_of_file(scale: float = 0.5) -> Policy:
    """Like dcmUCB1."""
    return Policy(ThroughLastClick(), Everything(), UCB1(scale))
'''
LOADS = """
import sys
from toplist.policies import make
from toplist.policies.own import OwnSources, load_own_policies
own = load_own_policies(OwnSources(tuple(sys.argv[1:]), False))
print([tuple(each) for each in own], make("mine-of-file(scale=2)").scoring.scale)
"""


def loaded(folder: Path, *modules: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: what is added to the catalogue stays there."""
    return subprocess.run(
        [sys.executable, "-c", LOADS, *modules], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_file_adds_its_marked_policies(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = loaded(tmp_path, "mine.py")
    assert done.stdout == "[('mine-of-file', 'mine.py')] 2\n", done.stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "mine.py has no policy; mark each function"),
        ("import nowhere_at_all", "mine.py cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        (MINE.replace("mine_of_file", "dcm_ts"), "mine.py has a policy 'dcm-ts', but there is one already; rename it."),
        (
            MINE.replace("mine_of_file", "__mine"),
            "A policy of mine.py is called '--mine', but a name has small letters",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, code: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(code)
    done = loaded(tmp_path, "mine.py")
    assert done.returncode == 1
    assert message in done.stderr


def test_without_sources_nothing_is_added() -> None:
    assert OwnSources((), False).is_empty
    before = loaded_sources()
    assert load_own_policies(OwnSources((), False)) == []
    assert loaded_sources() in (before, OwnSources((), False))
    with pytest.raises(InvalidInput, match=r"There is no file 'nowhere.py'"):
        load_own_policies(OwnSources(("nowhere.py",), False))

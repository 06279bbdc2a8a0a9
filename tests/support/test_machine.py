"""What a result was made on: the processor, and the commit of a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

from toplist.support.machine import code_commit, processor_name


def test_the_commit_of_a_checkout_is_known_and_changes_are_marked(tmp_path: Path) -> None:
    assert code_commit(tmp_path) is None  # no repository, even if one is around it
    named = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    (tmp_path / "file").write_text("one")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*named, *words], check=True, capture_output=True)
    commit = subprocess.run([*named, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert code_commit(tmp_path) == commit
    (tmp_path / "file").write_text("two")
    assert code_commit(tmp_path) == f"{commit}-dirty"
    (tmp_path / "within").mkdir()
    assert code_commit(tmp_path / "within") is None


def test_the_processor_has_a_name() -> None:
    assert processor_name()
    assert "\n" not in processor_name()

"""End to end: a real process with a real store, stopped and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from forking import ForkedProcess
from postgres_server import database

from toplist.cli import Exit, main
from toplist.service.client import Client
from toplist.service.wire import RankingSpec

Output = pytest.CaptureFixture[str]


@contextmanager
def serving(folder: Path, store: str = "toplist.db") -> Iterator[str]:
    """`toplist serve` in a folder; its URL."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_")}
    command = [sys.executable, "-W", "error", "-m", "toplist", "serve", "--port", "0", "--store", store]
    popen: Any = subprocess.Popen if store == "toplist.db" else ForkedProcess  # which starts sooner
    with popen(command, cwd=folder, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            assert process.returncode == Exit.FINE
        finally:
            process.kill()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_it_learns_and_continues_after_a_restart(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    is_file = kind == "sqlite"
    store = "toplist.db" if is_file else database(tmp_path / "db")
    with serving(tmp_path, store) as url, Client(url) as client:
        client.create_ranking(RankingSpec(name="shop", positions=2, policy="cascade-ucb1"))
        client.put_items("shop", ["tea", "coffee", "cocoa", "milk"])
        for _ in range(100):
            made = client.make_list("shop")
            clicks = [made.items.index("tea") + 1] if "tea" in made.items else []
            assert client.report(made.impression, clicks, final=True).counted
        before = client.estimates("shop")
        assert before.items[0].item == "tea" or before.learned == 100
        metrics = httpx.get(f"{url}/metrics").text
        assert 'toplist_learned_total{reason="final"} 100.0' in metrics
        assert "toplist_open_impressions 0.0" in metrics
        backed_up = main(["store", "backup", "copy.db", "--store", store])  # while it runs
        assert backed_up == (Exit.FINE if is_file else Exit.INPUT)
        assert httpx.get(url).status_code == 200
    with serving(tmp_path, store) as url, Client(url) as client:
        assert client.estimates("shop") == before
        assert client.history("shop").lists == 100
        assert client.report(made.impression, clicks, final=True).counted
        assert [event.kind for event in client.events("shop")].count("learned") == 100
    kept = [store, "copy.db"] if is_file else [store]
    for name in kept:
        assert main(["store", "check", "--store", name]) == Exit.FINE
    printed = capsys.readouterr().out
    assert printed.count("1 learner rebuilt from the log; what is kept differs in 0.") == len(kept)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["backup", "a.db"], "The store is 'toplist.db', but must be a file that exists; name it with --store"),
        (["backup", "--store", "here.db"], "The backup needs a file to write to; write toplist store backup FILE."),
        (["backup", "here.db", "--store", "here.db"], "The backup is 'here.db', but must be a new file"),
        (["check", "a.db", "--store", "here.db"], "A check takes no further file; name the store with --store."),
    ],
)
def test_invalid_backups_and_checks(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.db").touch()
    assert main(["store", *words]) == Exit.INPUT
    assert message in capsys.readouterr().err


def test_store_and_backups_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    try:
        with serving(tmp_path) as url, Client(url) as client:
            client.rankings()
            assert main(["store", "backup", "copy.db"]) == Exit.FINE
            found = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        assert {"toplist.db", "copy.db"} <= set(found)
        assert set(found.values()) == {0o600}, found
        assert os.umask(0o022) == 0o022  # as it was
    finally:
        os.umask(before)

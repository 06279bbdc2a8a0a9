"""Processes beside the service give way to requests from their first moment on."""

import os
import subprocess
from pathlib import Path

import pytest

from toplist.service.process_apart import command_apart

PROBE = """
import os, sys

print("imported", os.nice(0), sorted({"numba", "numpy"} & set(sys.modules)))


def main():
    print("run", sys.argv[1:])
    return 3
"""


def test_a_process_has_given_way_before_anything_large_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "probe.py").write_text(PROBE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    before = os.nice(0)
    done = subprocess.run(command_apart("probe", 2, "a", "b"), capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"imported {min(19, before + 2)} []", "run ['a', 'b']"]
    assert done.returncode == 3

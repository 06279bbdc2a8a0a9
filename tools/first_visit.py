"""Time a first visit to toplist on a bare machine: `make first-visit`.

Clone, install, and the first example of the README, in a temporary folder, with nothing compiled or cached before.
Packages come from wherever pip gets them, in the locked versions.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


class Stopwatch:
    """Runs commands, and prints how long each takes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        self.environment = kept | {"TOPLIST_CACHE_DIR": str(folder / "machine code"), "PIP_NO_CACHE_DIR": "1"}
        self.wall = self.cpu = 0.0

    def run(self, what: str, *command: str | Path) -> str:
        """Run a command that must succeed; returns what it printed."""
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            list(map(str, command)), cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.wall, self.cpu = self.wall + wall, self.cpu + cpu
        report(what, wall, cpu)
        return done.stdout


def report(what: str, wall: float, cpu: float) -> None:
    """Print one line."""
    print(f"{what:<40} {wall:6.1f} s, of CPU {cpu:6.1f} s", flush=True)


def main() -> int:
    """Clone, install and learn; fails if the example prints anything else than the README says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--source", default=str(ROOT), help="what to clone (default: this checkout)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        watch, clone, python = Stopwatch(folder), folder / "toplist", folder / "environment" / "bin" / "python"
        watch.run("clone", "git", "clone", "--quiet", "--no-hardlinks", asked.source, clone)
        watch.run("make an environment", sys.executable, "-m", "venv", python.parent.parent)
        locked = ("--quiet", "--disable-pip-version-check", "--constraint", clone / "requirements.lock")
        watch.run("install", python, "-m", "pip", "install", *locked, clone)
        found = EXAMPLE.search((clone / "README.md").read_text())
        assert found is not None
        code, expected = found.groups()
        first = watch.run("the README's example, to a learned list", python, "-c", code)
        report("from the clone to a learned list", watch.wall, watch.cpu)
        again = watch.run("the example again", python, "-c", code)
    for printed in (first, again):
        if printed.strip() != expected.strip():
            sys.exit(f"The example prints something else than the README says:\n{printed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

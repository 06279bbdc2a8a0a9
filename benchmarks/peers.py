"""Fits of UBM and DBN beside clax-models, each in its own environment: `make bench-peers`.

PyClick is not on PyPI (the package of that name moves the mouse), so it cannot be installed by name.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

from benchmarks.generated_log import in_memory
from benchmarks.report import Show, Table, nanoseconds, render, times
from toplist.logs import FitSettings, fit_model, prepare_log

PACKAGES = ("clax-models==0.1.1", "jax==0.7.2", "jaxlib==0.7.2")  # clax 0.1.1 does not run with later versions of jax
LISTS, QUERIES = 100_000, 1000
ITERATIONS = 50


def main(home: Path) -> None:
    """Install the peers if they are not there, and print the table."""
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"Installing {', '.join(PACKAGES)} in {home} ...", flush=True)
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (home / "ready").touch()
    log = in_memory(LISTS, QUERIES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.npz"
        np.savez(path, item=log.item.reshape(LISTS, -1), click=log.click.reshape(LISTS, -1))
        script = Path(__file__).with_name("peers_clax.py")
        done = subprocess.run([python, script, path], check=True, capture_output=True, text=True)
    theirs: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    data = prepare_log(log)
    rows = []
    for name, epoch in theirs.items():
        settings = FitSettings(ITERATIONS, newton=False)
        fit_model(data, name, errors="none", settings=settings)  # compiles
        begun = time.process_time()
        fit_model(data, name, errors="none", settings=settings)
        ours = (time.process_time() - begun) / (ITERATIONS + 1) / LISTS  # and one E-step at the end
        begun = time.process_time()
        found = fit_model(data, name, errors="none")
        whole = time.process_time() - begun
        rows.append({"algorithm": name, "clax": epoch, "toplist": ours, "ratio": epoch / ours, "whole fit": whole,
                     "iterations": len(found.history)})  # fmt: skip
    columns: dict[str, Show] = {
        "algorithm": str, "clax": nanoseconds, "toplist": nanoseconds, "ratio": times, "whole fit": nanoseconds,
        "iterations": str,
    }  # fmt: skip
    notes = [
        "clax: CPU time per list of one epoch of gradient descent in batches of 4,096; toplist: of one EM iteration.",
        "whole fit: toplist until the largest derivative per list is below 1e-7; gradient descent has no such end.",
    ]
    print(render(Table(f"Click models beside clax-models, {LISTS:,} lists of 10", columns, rows, notes)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

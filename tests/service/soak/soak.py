"""Runs a soak: a real server, honest callers and an attacker, each a process, and then the audit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from benchmarks.server import PATIENCE, Broken, Server, serving
from msgspec.structs import replace
from promises.journal import wait_until_closed

from .attacker import Slice
from .findings import Latencies, audit_store, check_store, unforeseen
from .honest import OUTCOME
from .plan import IDLE, PROXY, SECONDS, TARGET, WINDOW, Keys, Plan, fill
from .watch import DiskProbe, Watch, resident

MEMORY, REQUEST_MEMORY = 64, 256  # megabytes, the settings of the service
CONNECTIONS = 1500  # fewer than the attacker opens within a slice, also on a busy machine
HERE = Path(__file__).resolve().parent
TAIL = 120.0  # seconds for the last answers, and for an attacker whom a busy machine has delayed
SETTLING = WINDOW + PATIENCE  # seconds for the last windows to close


class Outcome(NamedTuple):
    """Everything that a soak found."""

    plan: Plan
    slices: list[Slice]
    latencies: Latencies
    counts: dict[str, int]  # honest requests by kind
    failed: int
    failures: list[str]  # the first of them
    watch: Watch
    disk: DiskProbe
    base: int  # bytes of the service before the first attack
    store: str  # what the audit and the check say, where nothing is broken
    broken: list[str]


def soak(folder: Path, plan: Plan) -> Outcome:
    """Run a plan, of which port, keys, folder and beginning are set here."""
    keys = Keys.new()
    settings = {
        "keys": keys.setting, "memory": str(MEMORY), "limits.request_memory": str(REQUEST_MEMORY), "proxies": PROXY,
        "limits.connections": str(CONNECTIONS), "limits.seconds": str(SECONDS), "limits.idle": str(IDLE),
        "browser.secrets": f"soak:{token_hex(32)}",  # so that reports of browsers are waited for
    }  # fmt: skip
    broken: list[str] = []
    with serving(folder / "soak.db", settings=settings, api_key=keys.editor) as server:
        fill(server)
        plan = plan_for(plan, server, folder, keys)
        file = str(plan.write())
        honest = _start("honest", file)
        attacker = _start("attacker", file)
        disk = DiskProbe(folder)
        watch = Watch({"service": server.running.pid, "honest": honest.pid, "attacker": attacker.pid})
        try:
            time.sleep(max(0.0, plan.attacks_begin - time.monotonic()))
            base = resident(server.running.pid)
            told, _ = attacker.communicate(timeout=plan.end - time.monotonic() + TAIL)
            honest.wait(timeout=max(0.0, plan.end - time.monotonic()) + TAIL + PATIENCE)
        finally:
            watch.stop()
            disk.stop()
            for process in (honest, attacker):
                if process.poll() is None:
                    process.kill()
                process.wait()
        if honest.returncode or attacker.returncode:
            raise Broken(f"the honest callers ended with {honest.returncode}, the attacker with {attacker.returncode}")
        store = _audit(server, folder, plan, broken)
    outcome = json.loads((folder / OUTCOME).read_text())
    broken += [f"the service did not foresee: {line}" for line in unforeseen(server)[:5]]
    slices = [Slice(**json.loads(line)) for line in told.splitlines()]
    return Outcome(
        plan, slices, Latencies.read(folder), outcome["counts"], outcome["failed"], outcome["failures"], watch, disk,
        base,
        store, broken,
    )  # fmt: skip


def plan_for(plan: Plan, server: Server, folder: Path, keys: Keys) -> Plan:
    """A plan with the port, the keys, the folder and the beginning of this soak."""
    return replace(
        plan, port=server.port, folder=str(folder), page_key=keys.page, editor_key=keys.editor,
        stolen_serve_key=keys.stolen_serve, stolen_admin_key=keys.stolen_admin, begin=time.monotonic() + 1.0,
    )  # fmt: skip


def _start(name: str, plan: str) -> subprocess.Popen[str]:
    """One of the other processes; the attacker prints its findings."""
    folders = [str(HERE.parent), str(HERE.parents[2]), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-m", "soak.process", name, plan],
        stdout=subprocess.PIPE if name == "attacker" else subprocess.DEVNULL, text=True, start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))},
    )  # fmt: skip


def _audit(server: Server, folder: Path, plan: Plan, broken: list[str]) -> str:
    """What the store has, after the last window; the attackers' ranking is deleted, with its open lists."""
    told: list[str] = []
    try:
        server.must("DELETE", f"/v1/rankings/{TARGET}")
        if plan.final < 1.0:
            wait_until_closed(server.store, SETTLING)
        server.end()
        told.append(audit_store(server, folder))
        told.append(check_store(server))
    except Broken as problem:
        broken.append(str(problem))
    return "; ".join(told)

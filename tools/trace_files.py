"""Prints the files of toplist that take part in a request, a simulation and an experiment, by their first call.

Run it as `python tools/trace_files.py`; docs/architecture.md has its output.
"""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

import toplist
from toplist.cli import main as toplist_command
from toplist.service.http.app import make_app
from toplist.service.http.logs import Log
from toplist.service.live.service import Service
from toplist.service.settings import Settings

ROOT = f"{Path(toplist.__file__).parent}/"


@contextmanager
def traced(title: str) -> Iterator[None]:
    """Print the files whose functions are called within the context."""
    files: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(ROOT):
            files.setdefault(name.removeprefix(ROOT).removesuffix(".py"))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    print(f"{title}: {len(files)} files\n  {' -> '.join(files)}\n")


async def trace_requests(folder: Path) -> None:
    """Trace a list and its report, once the policy is compiled and the learner is in memory."""
    service = Service(folder / "toplist.db")
    await service.start()
    transport = httpx.ASGITransport(make_app(service, Settings(), Log("none", io.StringIO())))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8600/v1", timeout=100) as client:
        await client.post("/rankings", json={"name": "front", "positions": 2, "policy": "cascade-ucb1"})
        await client.put("/rankings/front/items", json={"items": [{"id": item} for item in "abcd"]})

        async def make_list() -> str:
            reply = await client.post("/rankings/front/lists", json={})
            return f"/impressions/{reply.json()['impression']}/clicks"

        report = {"clicks": [1], "final": True}
        await client.put(await make_list(), json=report)
        with traced("POST lists"):
            path = await make_list()
        with traced("PUT clicks"):
            await client.put(path, json=report)
    await service.stop()


def trace_command(title: str, *arguments: str) -> None:
    """Trace a command, the second time it runs in this process."""
    for turn in range(2):
        with tempfile.TemporaryDirectory() as folder:
            given = [argument.replace("FOLDER", folder) for argument in arguments]
            output = io.StringIO()
            if turn == 0:
                with redirect_stdout(output), redirect_stderr(output):
                    toplist_command(given)
            else:
                with traced(title), redirect_stdout(output), redirect_stderr(output):
                    toplist_command(given)


def main() -> None:
    """Trace everything."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(trace_requests(Path(folder)))
    trace_command("toplist simulate", "simulate", "cascade-ucb1", "--steps", "100", "--runs", "1", "--quiet")
    trace_command("toplist reproduce", "reproduce", "kveton2015/figure1", "--quick", "--quiet", "--results", "FOLDER")


if __name__ == "__main__":
    main()

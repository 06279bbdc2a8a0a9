"""A log that nobody reads: it stops nobody, and says later how many lines were dropped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from toplist.service.http.log_stream import MOST_BYTES, LogStream
from toplist.service.http.logs import Log


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # closed by the test
            os.close(end)


def read_lines(end: int) -> Iterator[bytes]:
    """The lines of a pipe."""
    rest = b""
    while True:
        rest += os.read(end, 1 << 20)
        *lines, rest = rest.split(b"\n")
        yield from lines


def test_a_pipe_that_nobody_reads_blocks_nobody_and_dropped_lines_are_counted(pipe: tuple[int, int]) -> None:
    stream = LogStream(pipe[1])
    log = Log(stream=stream)
    lines = MOST_BYTES // 10_000 + 100
    for number in range(lines):
        log.event("large", number=number, text="x" * 10_000)
    assert 0 < log.dropped < lines
    written = map(json.loads, read_lines(pipe[0]))
    kept = lines - log.dropped
    numbers = [next(written)["number"] for _ in range(kept)]
    assert numbers == sorted(set(numbers))
    report = next(written)
    assert (report["event"], report["count"]) == ("log lines dropped", log.dropped)
    log.event("again")
    assert next(written)["event"] == "again"
    stream.close()


def test_a_closed_pipe_blocks_nobody(pipe: tuple[int, int]) -> None:
    stream = LogStream(pipe[1])
    os.close(pipe[0])
    Log(stream=stream).event("unheard")
    stream.close()
    assert stream.dropped == 1


def test_the_last_lines_are_written_before_the_end(pipe: tuple[int, int]) -> None:
    stream = LogStream(pipe[1])
    log = Log(stream=stream)
    for number in range(5):
        log.event("line", number=number)
    stream.close()
    assert len(os.read(pipe[0], 1 << 16).splitlines()) == 5

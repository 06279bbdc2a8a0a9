"""What do open dashboards cost the service? `python -m benchmarks.dashboards [--open 10] [--rounds 15]`.

Rounds of the same load, lists and reports over 64 connections, in turn without dashboards and with them: each follows
the ranking, or every other one all rankings, as the page does, by a stream of server-sent events. The server has one
core, this process the other.
"""

from __future__ import annotations

import argparse
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from statistics import median

from benchmarks.load import HOST
from benchmarks.measure import ratio
from benchmarks.sections.service import POLICY, RANKING, WINDOW, lists_and_reports, run_load, two_cores
from benchmarks.server import Server, serving

CONNECTIONS = 64
ITEMS, POSITIONS = 1000, 10
PATHS = (f"/v1/rankings/{RANKING}/live?updates=10000&items=100", "/v1/live?updates=10000&limit=100")  # as the page asks


@contextmanager
def watching(server: Server, count: int) -> Iterator[list[int]]:
    """So many open dashboards; the bytes that each got."""
    got = [0] * count
    streams = [socket.create_connection((HOST, server.port)) for _ in range(count)]

    def follow(n: int) -> None:
        while part := streams[n].recv(1 << 16):
            got[n] += len(part)

    for stream, path in zip(streams, cycle(PATHS), strict=False):
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    threads = [threading.Thread(target=follow, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield got
    finally:
        for stream in streams:
            stream.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for stream in streams:
            stream.close()


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open", type=int, default=10, help="dashboards")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a load")
    options = parser.parse_args()
    rates: dict[int, list[float]] = {0: [], options.open: []}
    cpu: dict[int, list[float]] = {0: [], options.open: []}  # seconds of the server per request
    received = 0
    with (
        tempfile.TemporaryDirectory(prefix="toplist-bench-") as folder,
        two_cores() as core,
        serving(Path(folder) / "toplist.db", core=core) as server,
    ):
        server.create(RANKING, ITEMS, POSITIONS, policy=POLICY, click_window=WINDOW, prior_strength=1.0)
        for turn in range(options.rounds + 1):  # the first warms up
            for count in list(rates)[:: 1 if turn % 2 == 0 else -1]:
                with watching(server, count) as got:
                    seeds = range(turn * CONNECTIONS, (turn + 1) * CONNECTIONS)
                    visitors = [lists_and_reports(lambda: None, seed=seed) for seed in seeds]
                    before = server.cpu()
                    report = run_load(server, visitors, options.seconds)
                    cpu[count].append((server.cpu() - before) / report.answers)
                    rates[count].append(report.per_second)
                received += sum(got)
    alone, watched = (rates[count][1:] for count in (0, options.open))
    share = ratio([1.0 / each for each in alone], [1.0 / each for each in watched])
    more = ratio(cpu[options.open][1:], cpu[0][1:])
    print(
        f"{median(alone):,.0f} requests per second alone, {median(watched):,.0f} with {options.open} dashboards, which "
        f"got {received / 2**20:.1f} MB: ratio {share.middle:.3f} ({share.low:.3f} to {share.high:.3f}); CPU time "
        f"of a request {more.middle:.3f} times as much ({more.low:.3f} to {more.high:.3f})"
    )


if __name__ == "__main__":
    main()

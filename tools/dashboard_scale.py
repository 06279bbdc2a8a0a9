"""How the dashboard does with 1,000 rankings and 100,000 items: `python tools/dashboard_scale.py`.

A service with a generated store is opened in Chromium. Printed are the seconds until a view shows what it should: after
loading it, after scrolling to its end, and after a search; and how long requests for lists took meanwhile.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import quantiles

import httpx
from playwright.sync_api import Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PATIENCE = 60.0  # seconds
BATCH = 10_000  # items of one request


@contextmanager
def serving(folder: str) -> Iterator[str]:
    """The service in a process; its address."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_")}
    command = [sys.executable, "-m", "toplist", "serve", "--port", "0", "--set", "limits.rankings=2000"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def stock(client: httpx.Client, rankings: int, items: int, lists: int) -> None:
    """Many rankings with a few lists each, and one with many items and lists."""

    def ask(method: str, path: str, body: object) -> dict[str, str]:
        reply = client.request(method, f"/v1/{path}", json=body)
        reply.raise_for_status()
        return dict(reply.json())

    def learn(name: str, n: int) -> None:
        made = ask("POST", f"rankings/{name}/lists", {"visitor": f"v{n}"})
        clicks = [1] if n % 3 else []
        ask("PUT", f"impressions/{made['impression']}/clicks", {"clicks": clicks, "final": True})

    for n in range(rankings - 1):
        ask("POST", "rankings", {"name": f"ranking-{n:04}", "positions": 3, "holdout": 0.2 if n % 2 else 0.0})
        ask("PUT", f"rankings/ranking-{n:04}/items", {"items": [{"id": f"item {k}"} for k in range(10)]})
        for k in range(3):
            learn(f"ranking-{n:04}", k)
    ask("POST", "rankings", {"name": "large", "positions": 10})
    for begin in range(0, items, BATCH):
        ask("PUT", "rankings/large/items", {"items": [{"id": f"item {n:06}"} for n in range(begin, begin + BATCH)]})
    for n in range(lists):
        learn("large", n)


def seconds_until(page: Page, script: str, act: Callable[[], object]) -> float:
    """Seconds from an act until a script in the page is true."""
    begun = time.perf_counter()
    act()
    while not page.evaluate(script):  # `wait_for_function` needs eval, which the page's policy forbids
        assert time.perf_counter() < begun + PATIENCE, script
        page.wait_for_timeout(20)
    return time.perf_counter() - begun


def look(page: Page, address: str, view: str, box: str, search: str, wanted: str, last: str) -> None:
    """Load a view, scroll to its end, and search."""
    has = f"text => document.getElementById('{box}').innerText.includes(text)"
    scroll = f"document.getElementById('{box}').parentElement.parentElement.scrollTop = 1e9"
    loaded = seconds_until(
        page, f"document.querySelectorAll('#{box} th').length >= 100", lambda: page.goto(f"{address}/{view}")
    )
    ended = seconds_until(page, f"({has})({last!r})", lambda: page.evaluate(scroll))
    alone = f"document.querySelectorAll('#{box} th').length < 100 && ({has})({wanted!r})"
    found = seconds_until(page, alone, lambda: page.fill(f"#{search}", wanted.upper()))
    rows = page.evaluate("document.querySelectorAll('tr').length")
    print(f"{view}: loaded {loaded:.2f} s, its end {ended:.2f} s, a search {found:.2f} s; {rows} rows in the page")


class Visitor(threading.Thread):
    """Asks for lists, 50 a second, and notes how long each took."""

    def __init__(self, address: str, name: str) -> None:
        super().__init__()
        self._address, self._name, self.stopped, self.seconds = address, name, threading.Event(), list[float]()

    def run(self) -> None:
        """Ask until stopped."""
        with httpx.Client(base_url=self._address) as client:
            while not self.stopped.wait(0.02):
                begun = time.perf_counter()
                client.post(f"/v1/rankings/{self._name}/lists", json={}).raise_for_status()
                self.seconds.append(time.perf_counter() - begun)

    def figures(self) -> str:
        """Median and 99th percentile."""
        cuts = quantiles(self.seconds, n=100)
        return f"{len(self.seconds)} lists, median {1000 * cuts[49]:.1f} ms, p99 {1000 * cuts[98]:.1f} ms"


def visited(address: str, work: Callable[[], object]) -> str:
    """How long lists take while something is done."""
    visitor = Visitor(address, "large")
    visitor.start()
    try:
        work()
    finally:
        visitor.stopped.set()
        visitor.join()
    return visitor.figures()


def main() -> None:
    """Make the store, look at it, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rankings", type=int, default=1000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--lists", type=int, default=1000, help="of the ranking with many items")
    given = parser.parse_args()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, serving(folder) as address, sync_playwright() as playwright:
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            stock(client, given.rankings, given.items, given.lists)
        print("without dashboard:", visited(address, lambda: time.sleep(10.0)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        name = f"ranking-{given.rankings - 2:04}"

        def overview() -> None:
            look(page, address, "#/", "rankings", "find-ranking", f"ranking-{given.rankings // 2:04}"[:-1], name)
            time.sleep(5.0)

        def order() -> None:
            last = f"{given.items:,}"
            look(page, address, "#large", "items", "find-item", f"item {given.items // 2:06}", last)
            time.sleep(5.0)

        print("with the overview open:", visited(address, overview))
        print("with the order open:", visited(address, order))
        browser.close()


if __name__ == "__main__":
    main()

"""What does the tracker cost a page? `python tools/tracker_cost.py`: CPU time of its main thread per list.

A page with many lists is opened, scrolled through, clicked in and left for another. The trace of Chromium has each call
into the tracker's file; their sum is divided by the number of lists. Loading and compiling the file is shown apart.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
TRACKER = ROOT / "src" / "toplist" / "service" / "http" / "assets" / "tracker.js"
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
LISTS, ITEMS = 20, 10


def page_html() -> str:
    """A page with many lists."""
    items = "".join(f'<li><a href="#{n}">item {n}</a></li>' for n in range(ITEMS))
    lists = "".join(f'<ol data-toplist="1.a.99999999999.{n:032x}.{"x" * 43}">{items}</ol>' for n in range(LISTS))
    style = "<style>li { height: 60px }</style>"
    return f'<!doctype html>{style}{lists}<script type="module" src="/assets/tracker.js"></script>'


def traced(url: str) -> list[dict[str, Any]]:
    """The trace of a visit."""
    events: list[dict[str, Any]] = []
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 800, "height": 900})
        session = page.context.new_cdp_session(page)
        categories = "devtools.timeline,v8.execute,disabled-by-default-v8.compile"
        session.send("Tracing.start", {"categories": categories, "transferMode": "ReportEvents"})
        page.goto(url)
        height = page.evaluate("document.documentElement.scrollHeight")
        for top in range(0, height, 450):
            page.evaluate(f"scrollTo(0, {top})")
            page.wait_for_timeout(1200)
        for n in range(5):
            page.locator(f'a[href="#{n}"]').last.click()
        page.wait_for_timeout(2500)
        page.goto("about:blank")
        page.wait_for_timeout(500)
        session.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
        session.send("Tracing.end")
        page.wait_for_timeout(3000)
        browser.close()
    return events


def main() -> None:
    """Serve the page, trace a visit with each of the trackers, and print the cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trackers", type=Path, nargs="*", default=[TRACKER], help="files to compare")
    for tracker in parser.parse_args().trackers:
        measure(tracker)


def measure(tracker: Path) -> None:
    """Measure one tracker, and print its cost."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "assets").mkdir()
        shutil.copy(tracker, folder / "assets" / "tracker.js")
        (folder / "index.html").write_text(page_html())
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=name))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            events = traced(f"http://127.0.0.1:{server.server_port}/")
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
    calls = [each for each in events if each["name"] == "FunctionCall" and of_tracker(each)]
    loads = [each for each in events if each["name"] in ("EvaluateScript", "v8.compileModule", "v8.evaluateModule")]
    spent = sum(each.get("tdur", 0) for each in calls) / 1000.0
    begun = sum(each.get("tdur", 0) for each in loads if of_tracker(each)) / 1000.0
    print(
        f"{tracker.name}: {len(calls)} calls, {spent:.2f} ms in all, {spent / LISTS:.3f} ms per list of {ITEMS} items; "
        f"compiling and starting the tracker {begun:.2f} ms, {begun / LISTS:.3f} ms per list"
    )


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and nothing for reports."""

    def do_POST(self) -> None:
        """Take a report."""
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def of_tracker(event: dict[str, Any]) -> bool:
    """Whether an event of the trace names the tracker's file."""
    return "tracker.js" in json.dumps(event.get("args", {}))


if __name__ == "__main__":
    main()

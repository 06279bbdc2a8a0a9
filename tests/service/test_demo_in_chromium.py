"""`toplist demo` in a real Chromium: its example page learns from simulated visitors, and from the one who reads it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import PATIENCE, Watched, chromium, eventually
from playwright.sync_api import Page

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
ENDS_AFTER = 180.0  # seconds, whatever happens


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Those of the dashboard and of the example page."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-u", "-m", "toplist", "demo", "--folder", str(folder), "--port", "0", "--rate", "100"]
    with subprocess.Popen([*command, "--seconds", str(ENDS_AFTER)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found: dict[str, str] = {}
        for line in process.stdout:
            if address := re.search(r"(http://\S+?)/(?:,|$)", line):
                found["dashboard" if line.startswith("Watch") else "site"] = address[1]
            if len(found) == 2:
                break
        reader = threading.Thread(target=process.stdout.read)  # a full pipe would stop the demo
        reader.start()
        try:
            yield found["dashboard"], found["site"]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(ENDS_AFTER)
            reader.join(PATIENCE)


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium() as browser:
        yield browser.new_page(viewport={"width": 360, "height": 740})


def test_the_example_learns_and_a_click_in_it_counts_once(addresses: tuple[str, str], page: Page) -> None:
    dashboard, site = addresses
    watched = Watched(page)
    page.goto(site)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert [each["id"] for each in found["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    token = str(page.get_attribute("[data-toplist]", "data-toplist"))
    title = page.locator("li a").nth(1).inner_text()
    page.locator("li a").nth(1).dblclick()
    page.wait_for_selector(f"h1:text-is({title!r})")
    impression = "-".join(re.fullmatch(r"(.{8})(.{4})(.{4})(.{4})(.{12})", token.split(".")[3]).groups())  # type: ignore[union-attr]
    reply = eventually(
        lambda: page.request.get(f"{dashboard}/v1/impressions/{impression}").json(),
        lambda known: known["clicks"] == [2], page,
    )  # fmt: skip
    assert reply["ranking"] == "news"
    assert watched.errors == []

    page.goto(f"{dashboard}/#news")
    number = "#numbers div:has(dt:text-is('{}')) dd"
    shares = eventually(
        lambda: [page.locator(number.format(name)).all_inner_texts() for name in ("policy", "holdout")],
        lambda texts: all(len(each) == 1 and each[0].endswith("%") for each in texts) and rises(texts), page,
    )  # fmt: skip
    assert rises(shares)
    assert "dotted: the holdout" in page.inner_text("#about")
    page.click("#to-events")
    eventually(lambda: page.inner_text("#events"), lambda text: "counted" in text, page)
    assert watched.errors == []


def rises(shares: list[list[str]]) -> bool:
    """Whether the policy earns half as much again as the holdout."""
    policy, holdout = (float(each[0].rstrip("%")) for each in shares)
    return policy > 1.5 * holdout > 0.0

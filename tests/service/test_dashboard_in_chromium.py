"""The dashboard in a real Chromium: live, readable by everybody, safe, and able to change a ranking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest
from browsing import Server, Watched, chromium, eventually
from playwright.sync_api import Browser, Page

from toplist.service.http.auth import hash_api_key

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
LONG = "an-item-with-a-name-that-has-no-place-to-break-" * 4
KEY = "toplist_key-of-the-dashboard"


def stock(server: Server, headers: dict[str, str] | None = None) -> None:
    def ask(method: str, path: str, body: Any) -> Any:
        return server.ask(method, path, json=body, headers=headers)

    spec = {"name": "shop", "positions": 3, "policy": "cascade-ucb1", "reference": 0.5}
    ask("POST", "/v1/rankings", spec)
    items = [{"id": each} for each in (HOSTILE, LONG, "tea", "coffee", 7)]
    ask("PUT", "/v1/rankings/shop/items", {"items": items})
    for n in range(60):
        learn(server, [1] if n % 3 else [], headers)


def learn(server: Server, clicks: list[int], headers: dict[str, str] | None = None) -> None:
    made = server.ask("POST", "/v1/rankings/shop/lists", json={}, headers=headers)["impression"]
    report = {"clicks": clicks, "final": True}
    server.ask("PUT", f"/v1/impressions/{made}/clicks", json=report, headers=headers)


class Running:
    """A Chromium, a service without keys, and one with a key."""

    def __init__(self, browser: Browser, server: Server, keyed: Server) -> None:
        self.browser, self.server, self.keyed = browser, server, keyed


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with ExitStack() as stack:
        servers = [
            Server(tmp_path_factory.mktemp("open")),
            Server(tmp_path_factory.mktemp("keyed"), keys=f"boss:admin:{hash_api_key(KEY)}"),
        ]
        for server in servers:
            server.start()
            stack.callback(server.stop)
        stock(servers[0])
        stock(servers[1], {"authorization": f"Bearer {KEY}"})
        yield Running(stack.enter_context(chromium()), *servers)


def view(opened: Running, width: int = 1000, scheme: Literal["light", "dark"] = "light") -> Page:
    context = opened.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    return context.new_page()


def is_live(page: Page) -> None:
    page.wait_for_selector("#status.well:has-text('live')", timeout=30_000)


@pytest.fixture
def page(opened: Running) -> Iterator[Page]:
    page = view(opened)
    yield page
    page.context.close()


def test_it_shows_a_ranking_and_follows_it(opened: Running, page: Page) -> None:
    watched = Watched(page)
    page.goto(opened.server.url)
    is_live(page)
    before = int(page.inner_text("#numbers div:has-text('lists learned') dd").replace(",", ""))
    assert before >= 60
    assert page.locator("#chart canvas").count() == 1
    assert page.locator("#items tr").count() == 5
    learn(opened.server, [2])
    eventually(
        lambda: page.inner_text("#numbers div:has-text('lists learned') dd"), lambda text: text == str(before + 1), page
    )
    assert "a click at 2" in page.inner_text("#events")
    assert watched.errors == []


def test_it_says_when_everybody_gets_the_baseline(opened: Running, page: Page) -> None:
    page.goto(opened.server.url)
    is_live(page)
    assert "baseline" not in page.inner_text("main")
    assert "reference" in page.inner_text("#numbers")
    opened.server.ask("PATCH", "/v1/rankings/shop", json={"mode": "shadow"})
    said = "Everybody gets the baseline: mode shadow."
    eventually(lambda: page.inner_text("#order"), lambda text: text.startswith(said), page)
    opened.server.ask("PATCH", "/v1/rankings/shop", json={"mode": "live"})


def test_hostile_names_are_text(opened: Running, page: Page) -> None:
    page.goto(opened.server.url)
    is_live(page)
    assert HOSTILE in page.locator("#items th").all_inner_texts()
    assert page.locator("#items img").count() == 0
    assert page.title() == "toplist"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 360])
def test_it_is_accessible_and_fits(opened: Running, width: int, scheme: Literal["light", "dark"]) -> None:
    page = view(opened, width, scheme)
    page.goto(opened.server.url)
    is_live(page)
    for summary in page.locator("summary").all():
        summary.click()
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    told = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]
    assert told == []
    assert len(found["passes"]) > 20
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


def test_it_works_by_keyboard(opened: Running, page: Page) -> None:
    page.goto(opened.server.url)
    is_live(page)
    reached = set()
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
    assert {"ranking", "Settings", "Add items", "Create a ranking"} <= reached
    page.locator("summary", has_text="Create a ranking").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("by-keyboard")
    page.keyboard.press("Enter")
    eventually(lambda: page.input_value("#ranking"), lambda name: name == "by-keyboard", page)
    opened.server.ask_none("DELETE", "/v1/rankings/by-keyboard")


def test_a_ranking_is_created_changed_and_read(opened: Running, page: Page) -> None:
    watched = Watched(page)
    page.goto(opened.server.url)
    is_live(page)
    for summary in page.locator("summary").all():
        summary.click()
    page.fill("#form-create [name=name]", "news")
    page.fill("#form-create [name=items]", "storm\nbridge\n\n night trains ")
    page.click("#form-create button")
    eventually(lambda: page.locator("#items th").all_inner_texts(), lambda rows: len(rows) == 3, page)
    assert set(page.locator("#items th").all_inner_texts()) == {"storm", "bridge", "night trains"}
    page.fill("#form-settings [name=policy]", "cascade-kl-ucb")
    page.fill("#form-settings [name=click_window]", "60")
    page.click("#form-settings button")
    eventually(lambda: page.inner_text("#form-settings output"), lambda text: text.startswith("Now cascade-kl"), page)
    page.fill("#form-item [name=id]", "storm")
    page.click("#form-item button[value=hide]")
    eventually(lambda: page.inner_text("#form-item output"), lambda text: text.startswith("Hidden"), page)
    assert opened.server.ask("GET", "/v1/rankings/news/items/storm")["hidden"] is True
    page.fill("#form-add [name=items]", "fox")
    page.click("#form-add button")
    eventually(lambda: page.inner_text("#form-add output"), lambda text: text == "Put 1 items.", page)
    with page.expect_download() as download:
        page.click("#form-download button")
    assert download.value.suggested_filename == "news.ndjson"
    assert Path(download.value.path()).read_text().count('"kind":"items"') == 3
    page.fill("#form-settings [name=policy]", "no-such-policy")
    page.click("#form-settings button")
    eventually(lambda: page.inner_text("#form-settings output"), lambda text: "no-such-policy" in text, page)
    assert [error for error in watched.errors if "422" not in error] == []  # Chromium notes each refusal
    opened.server.ask_none("DELETE", "/v1/rankings/news")


def test_a_key_is_asked_for_and_kept_in_memory_alone(opened: Running, page: Page) -> None:
    page.goto(opened.keyed.url)
    page.wait_for_selector("#ask:not([hidden])")
    page.fill("#key", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#status.ill")
    page.fill("#key", KEY)
    page.keyboard.press("Enter")
    is_live(page)
    assert page.is_hidden("#ask")
    assert "boss" in page.inner_text("#requests")
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    page.reload()
    page.wait_for_selector("#ask:not([hidden])")


def test_a_stopped_service_is_shown_and_found_again(page: Page, tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start()
    stock(server)
    page.goto(server.url)
    is_live(page)
    port = server.url.rsplit(":", 1)[1]
    server.stop()  # which an open stream does not hold up
    page.wait_for_selector("#status.ill", timeout=30_000)
    server.start(port)
    is_live(page)
    server.stop()

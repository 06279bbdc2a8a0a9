"""The dashboard in a real Chromium: live, readable by everybody, safe, and able to change a ranking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
from browsing import Server, Watched, chromium, clear, eventually
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


def stock_more(server: Server) -> None:
    """A ranking over topics, with a holdout, visitors and segments."""
    spec = {"name": "topics", "positions": 2, "policy": "cascade-lin-ucb", "features": 3, "holdout": 0.5}
    server.ask("POST", "/v1/rankings", json=spec)
    items = [{"id": f"item {n}", "features": [float(n % 3 == k) for k in range(3)]} for n in range(6)]
    server.ask("PUT", "/v1/rankings/topics/items", json={"items": items})
    for n in range(280):
        body = {"visitor": f"v{n}", "segment": HOSTILE if n % 3 == 0 else "evening"}
        made = server.ask("POST", "/v1/rankings/topics/lists", json=body)
        clicks = [at for at, item in enumerate(made["items"], 1) if item in ("item 2", "item 5") or n % 2 == 0]
        server.ask("PUT", f"/v1/impressions/{made['impression']}/clicks", json={"clicks": clicks[:1], "final": True})


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
        stock_more(servers[0])
        stock(servers[1], {"authorization": f"Bearer {KEY}"})
        yield Running(stack.enter_context(chromium()), *servers)


def view(opened: Running, width: int = 1000, scheme: Literal["light", "dark"] = "light") -> Page:
    context = opened.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    return context.new_page()


def is_live(page: Page) -> None:
    page.wait_for_selector("#status.well:has-text('live')", timeout=30_000)


@pytest.fixture(scope="module")
def kept_page(opened: Running) -> Page:
    """One page for all tests that need no other: a new one takes as long as a test."""
    return view(opened)


@pytest.fixture
def page(kept_page: Page) -> Iterator[Page]:
    """The page, empty, without what the test before has left."""
    yield kept_page
    clear(kept_page)


VIEWS = {
    "overview": "#/",
    "new": "#/new",
    "order": "#shop",
    "events": "#shop/events",
    "change": "#shop/change?item=tea",
    "no uplift": "#shop/uplift",
    "uplift": "#topics/uplift",
    "topics": "#topics/topics",
    "segment": "#topics?segment=evening",
}


def open_all(page: Page) -> None:
    page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")


def see(opened: Running, page: Page, view: str) -> None:
    page.goto(f"{opened.server.url}/{VIEWS[view]}")
    is_live(page)


def test_it_shows_a_ranking_and_follows_it(opened: Running, page: Page) -> None:
    watched = Watched(page)
    see(opened, page, "order")
    before = int(page.inner_text("#numbers div:has-text('lists learned') dd").replace(",", ""))
    assert before >= 60
    assert page.locator("#chart canvas").count() == 1
    assert page.locator("#items tr").count() == 5
    learn(opened.server, [2])
    eventually(
        lambda: page.inner_text("#numbers div:has-text('lists learned') dd"), lambda text: text == str(before + 1), page
    )
    page.click("#to-events")
    eventually(lambda: page.inner_text("#events"), lambda text: "a click at 2" in text, page)
    assert watched.errors == []


def test_the_overview_shows_all_rankings_and_follows_them(opened: Running, page: Page) -> None:
    watched = Watched(page)
    see(opened, page, "overview")
    eventually(
        lambda: page.locator("#rankings th a").all_inner_texts(), lambda names: names == ["shop", "topics"], page
    )
    cells = page.locator("#rankings tr", has_text="topics").locator("td").all_inner_texts()
    assert cells[:2] == ["280", "280"]
    assert cells[4].startswith("+")
    shop = page.locator("#rankings tr", has_text="shop")
    before = int(shop.locator("td").first.inner_text())
    assert "points" in shop.locator("td").last.inner_text()
    learn(opened.server, [])
    eventually(shop.locator("td").first.inner_text, lambda text: text == str(before + 1), page)
    page.fill("#find-ranking", "OPIC")
    eventually(lambda: page.locator("#rankings th a").all_inner_texts(), lambda names: names == ["topics"], page)
    page.click("#rankings th a")
    page.wait_for_selector("#view-ranking h2:has-text('topics')")
    assert page.url.endswith("#topics")
    assert watched.errors == []


def test_it_says_when_everybody_gets_the_baseline(opened: Running, page: Page) -> None:
    see(opened, page, "order")
    eventually(lambda: page.inner_text("#order"), bool, page)
    assert "baseline" not in page.inner_text("#order")
    assert "reference" in page.inner_text("#numbers")
    opened.server.ask("PATCH", "/v1/rankings/shop", json={"mode": "shadow"})
    said = "Everybody gets the baseline: mode shadow."
    eventually(lambda: page.inner_text("#order"), lambda text: text.startswith(said), page)
    page.locator("#changes-part summary").click()
    eventually(lambda: page.inner_text("#changes"), lambda text: "mode: live to shadow" in text, page)
    opened.server.ask("PATCH", "/v1/rankings/shop", json={"mode": "live"})


def test_the_uplift_has_both_groups_intervals_and_checks(opened: Running, page: Page) -> None:
    watched = Watched(page)
    see(opened, page, "uplift")
    page.wait_for_selector("#uplift-found:not([hidden])")
    found = opened.server.ask("GET", "/v1/rankings/topics/uplift?by=segment")
    metric = found["metrics"][0]
    rows = page.locator("#uplift-metrics tr").all_inner_texts()
    assert len(rows) == 6
    assert rows[0].startswith("click-through, difference")
    assert rows[5].startswith("clicks at 1, ratio")
    assert f"{metric['policy']:.3f}" in rows[0]
    assert f"{metric['holdout']:.3f}" in rows[0]
    bounds = metric["ratio"]["sequence"]
    assert f"{bounds['low']:.3f} to {bounds['high']:.3f}" in rows[1]
    fixed = metric["ratio"]["fixed_horizon"]
    assert f"{fixed['low']:.3f} to {fixed['high']:.3f}" in rows[1]
    assert "Sample ratio: as assigned" in page.inner_text("#uplift-checks")
    assert page.locator("#uplift-slices tr").count() == 1  # a day
    page.click("#by-segment")
    eventually(
        lambda: page.locator("#uplift-slices th").all_inner_texts(),
        lambda names: sorted(names) == sorted(part["name"] for part in found["slices"]), page,
    )  # fmt: skip
    assert page.locator("#uplift-slices img").count() == 0  # a hostile segment is text
    assert watched.errors == []
    see(opened, page, "no uplift")
    eventually(lambda: page.inner_text("#uplift-none"), lambda text: "no holdout" in text, page)


def test_the_curve_is_shown_against_the_holdout(opened: Running, page: Page) -> None:
    page.goto(f"{opened.server.url}/#topics")
    metric = opened.server.ask("GET", "/v1/rankings/topics/uplift")["metrics"][0]
    number = "#numbers div:has(dt:text-matches('{}')) dd"
    eventually(
        lambda: [page.locator(number.format(name)).all_inner_texts() for name in ("^policy$", "^holdout$", "^uplift")],
        lambda texts: texts == [
            [f"{100 * metric['policy']:.1f}%"], [f"{100 * metric['holdout']:.1f}%"],
            [f"{100 * (metric['ratio']['estimate'] - 1):+.0f}%"],
        ], page,
    )  # fmt: skip
    assert "dotted: the holdout so far" in page.inner_text("#about")


def test_reports_are_shown_with_their_fate(opened: Running, page: Page) -> None:
    made = opened.server.ask("POST", "/v1/rankings/shop/lists", json={})["impression"]
    for clicks, final in (([1], False), ([1], False), ([1], True), ([2], True)):
        path = f"/v1/impressions/{made}/clicks"
        opened.server.ask("PUT", path, json={"clicks": clicks, "final": final})
    see(opened, page, "events")
    fates = page.locator("#events .kind")
    eventually(
        lambda: [text for text in fates.all_inner_texts() if text not in ("list", "learned")][:4],
        lambda found: found == ["contradicts", "counted", "duplicate", "counted"], page,
    )  # fmt: skip


def test_a_guardrail_that_has_stopped_is_shown(page: Page, opened: Running) -> None:
    stopped = {"at": "2026-11-17T10:00:00.000Z", "metric": "clicks_per_list", "worse_by": 0.1, "level": 0.05}
    reply = opened.server.ask("GET", "/v1/rankings/topics/uplift") | {"stopped": stopped | {"ratio": 0.7, "high": 0.88}}
    reply["sample_ratio"] |= {"alarm": True, "p_value": 0.001}
    page.route("**/uplift?*", lambda route: route.fulfill(json=reply))
    see(opened, page, "uplift")
    eventually(lambda: page.inner_text("#uplift-checks"), lambda text: "Guardrail: back to the baseline" in text, page)
    assert "certainly below 0.880" in page.inner_text("#uplift-checks")
    assert "ALARM" in page.inner_text("#uplift-checks li.ill")


def test_topics_and_segments(opened: Running, page: Page) -> None:
    watched = Watched(page)
    see(opened, page, "topics")
    eventually(
        lambda: page.inner_text("#topics-note"), lambda text: "choose one above" in text, page
    )  # without segment
    page.fill("#segment", "evening")
    page.keyboard.press("Enter")
    eventually(lambda: page.locator("#weights tr").count(), lambda count: count == 3, page)
    first = page.locator("#weights tr").first.inner_text()
    assert "topic 3" in first
    assert "item 2, item 5" in first
    assert page.url.endswith("#topics/topics?segment=evening")
    see(opened, page, "segment")
    eventually(lambda: page.inner_text("#numbers div:has-text('lists learned') dd"), lambda text: text == "186", page)
    assert page.input_value("#segment") == "evening"
    assert HOSTILE in page.locator("#segments option").evaluate_all("all => all.map(one => one.value)")
    assert watched.errors == []


def test_an_address_that_is_not_percent_encoded_leads_to_the_overview(opened: Running, page: Page) -> None:
    watched = Watched(page)
    page.goto(f"{opened.server.url}/#%")
    is_live(page)
    page.goto(f"{opened.server.url}/#shop/%?segment=%")
    is_live(page)
    assert page.title() == "shop, toplist"
    assert watched.errors == []


def test_hostile_names_are_text(opened: Running, page: Page) -> None:
    see(opened, page, "order")
    eventually(lambda: page.locator("#items th").all_inner_texts(), lambda names: HOSTILE in names, page)
    assert page.locator("#items img").count() == 0
    page.click("#to-events")
    assert page.title() == "shop, toplist"
    assert page.locator("main img").count() == 0


def test_hostile_names_are_text_in_every_view(opened: Running, page: Page) -> None:
    spec = {"name": "hostile", "positions": 1, "policy": "cascade-lin-ucb", "features": 1, "holdout": 0.5}
    opened.server.ask("POST", "/v1/rankings", json=spec)
    opened.server.ask("PUT", "/v1/rankings/hostile/items", json={"items": [{"id": HOSTILE, "features": [1.0]}]})
    opened.server.ask("PATCH", "/v1/rankings/hostile", json={"pins": {"1": HOSTILE}})
    for n in range(4):
        body = {"visitor": f"{HOSTILE}{n}", "segment": HOSTILE}
        made = opened.server.ask("POST", "/v1/rankings/hostile/lists", json=body)["impression"]
        opened.server.ask("PUT", f"/v1/impressions/{made}/clicks", json={"clicks": [1], "final": True})
    segment = f"?segment={quote(HOSTILE)}"
    shown = {
        "#hostile" + segment: "#items", "#hostile/topics" + segment: "#weights", "#hostile/events" + segment: "#events",
        "#hostile/change?item=" + quote(HOSTILE): "#pins", "#" + quote(HOSTILE, ""): "#name",
    }  # fmt: skip
    for address, place in shown.items():
        page.goto("about:blank")
        page.goto(f"{opened.server.url}/{address}")
        eventually(lambda place=place: page.inner_text(place), lambda text: HOSTILE in text, page)  # type: ignore[misc]
        assert page.locator("main img").count() == 0
        assert page.title() != "owned"
    page.wait_for_selector("#missing:not([hidden])")  # no ranking can have this name
    assert page.is_hidden("#ask")
    page.goto(f"{opened.server.url}/#hostile/uplift")
    page.wait_for_selector("#uplift-found:not([hidden])")
    page.click("#by-segment")
    eventually(lambda: page.inner_text("#uplift-slices"), lambda text: HOSTILE in text, page)
    assert page.locator("main img").count() == 0
    opened.server.ask_none("DELETE", "/v1/rankings/hostile")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 360])
def test_every_view_is_accessible_and_fits(opened: Running, width: int, scheme: Literal["light", "dark"]) -> None:
    page = view(opened, width, scheme)
    watched = Watched(page)
    for name in VIEWS:
        see(opened, page, name)
        page.wait_for_timeout(300)
        open_all(page)
        page.evaluate(AXE.read_text())
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        told = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]
        assert told == [], name
        assert len(found["passes"]) > 15
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    assert [error for error in watched.errors if "409" not in error] == []  # without a holdout there is no uplift
    page.context.close()


def test_it_works_by_keyboard(opened: Running, page: Page) -> None:
    see(opened, page, "order")
    eventually(lambda: page.locator("#items th").count(), lambda count: count == 5, page)
    reached: list[str] = []
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
    assert reached[:3] == ["nav-overview", "nav-new", "show-key"]
    assert {"to-uplift", "to-change", "find-item", "items-box", "tea"} <= set(reached)
    page.locator("#items a", has_text="tea").focus()
    learn(opened.server, [1])
    page.wait_for_timeout(3000)  # some states later, the focus is where it was
    assert page.evaluate("document.activeElement.textContent") == "tea"
    page.keyboard.press("Enter")
    eventually(lambda: page.input_value("#form-item [name=id]"), lambda text: text == "tea", page)
    page.locator("#nav-new").focus()
    page.keyboard.press("Enter")
    name = page.locator("#form-create [name=name]")
    name.wait_for()  # a field that is still hidden does not take the focus
    name.focus()
    page.keyboard.type("by-keyboard")
    page.keyboard.press("Enter")
    eventually(lambda: page.inner_text("#name"), lambda name: name == "by-keyboard", page)
    opened.server.ask_none("DELETE", "/v1/rankings/by-keyboard")


def test_a_ranking_is_created_changed_and_read(opened: Running, page: Page) -> None:
    watched = Watched(page)
    see(opened, page, "new")
    page.fill("#form-create [name=name]", "news")
    page.fill("#form-create [name=holdout]", "10")
    page.fill("#form-create [name=items]", "storm\nbridge\n\n night trains ")
    page.click("#form-create button")
    eventually(lambda: page.locator("#items th").all_inner_texts(), lambda rows: len(rows) == 3, page)
    assert set(page.locator("#items th").all_inner_texts()) == {"storm", "bridge", "night trains"}
    page.click("#to-change")
    open_all(page)
    page.fill("#form-settings [name=policy]", "cascade-kl-ucb")
    page.fill("#form-settings [name=click_window]", "60")
    page.fill("#form-settings [name=holdout]", "25")
    page.fill("#form-settings [name=worse_by]", "5")
    page.select_option("#form-settings [name=mode]", "shadow")
    page.click("#form-settings button")
    eventually(lambda: page.inner_text("#form-settings output"), lambda text: text.startswith("Now cascade-kl"), page)
    now = opened.server.ask("GET", "/v1/rankings/news")
    assert (now["policy"], now["click_window"], now["holdout"], now["mode"]) == ("cascade-kl-ucb", 60, 0.25, "shadow")
    assert now["stop_if"] == {"metric": "clicks_per_list", "worse_by": 0.05, "level": 0.05}

    def press(button: str, said: str) -> None:
        page.fill("#form-item [name=id]", "storm")
        page.click(f"#form-item button[value={button}]")
        eventually(lambda: page.inner_text("#form-item output"), lambda text: text.startswith(said), page)

    page.fill("#form-item [name=position]", "2")
    press("pin", "Pinned at 2")
    assert opened.server.ask("GET", "/v1/rankings/news")["pins"] == {"2": "storm"}
    assert opened.server.ask("POST", "/v1/rankings/news/lists", json={})["items"][1] == "storm"
    eventually(lambda: page.inner_text("#pins"), lambda text: text == "Pinned: 2: storm.", page)
    press("unpin", "Not pinned")
    press("hide", "Hidden")
    assert opened.server.ask("GET", "/v1/rankings/news/items/storm")["hidden"] is True
    page.fill("#form-add [name=items]", "fox")
    page.click("#form-add button")
    eventually(lambda: page.inner_text("#form-add output"), lambda text: text == "Put 1 item.", page)
    with page.expect_download() as download:
        page.click("#form-download button")
    assert download.value.suggested_filename == "news.ndjson"
    assert Path(download.value.path()).read_text().count('"kind":"items"') == 3
    page.fill("#form-settings [name=policy]", "no-such-policy")
    page.click("#form-settings button")
    eventually(lambda: page.inner_text("#form-settings output"), lambda text: "no-such-policy" in text, page)
    assert [error for error in watched.errors if "422" not in error] == []  # Chromium notes each refusal
    opened.server.ask_none("DELETE", "/v1/rankings/news")
    page.wait_for_selector("#missing:not([hidden])")  # and says that it is gone


def test_long_tables_are_scrolled_and_searched(opened: Running, page: Page) -> None:
    opened.server.ask("POST", "/v1/rankings", json={"name": "long", "positions": 2})
    items = [{"id": f"item {n:04}"} for n in range(3000)]
    opened.server.ask("PUT", "/v1/rankings/long/items", json={"items": items})
    opened.server.ask("POST", "/v1/rankings/long/lists", json={})
    watched = Watched(page)
    page.goto(f"{opened.server.url}/#long")
    eventually(lambda: page.locator("#items th").count(), lambda count: count == 100, page)
    assert page.get_attribute("#items-box table", "aria-rowcount") == "3001"
    page.evaluate("document.getElementById('items-box').scrollTop = 1e9")
    eventually(lambda: page.locator("#items tr td:first-child").all_inner_texts(), lambda all: "3,000" in all, page)
    assert page.locator("#items th").count() == 100
    assert page.locator("#items tr", has=page.get_by_text("3,000", exact=True)).is_visible()
    page.fill("#find-item", "ITEM 299")
    eventually(
        lambda: page.locator("#items th").all_inner_texts(),
        lambda names: sorted(names) == [f"item {n}" for n in range(2990, 3000)], page,
    )  # fmt: skip
    for n in range(120):
        opened.server.ask("POST", "/v1/rankings", json={"name": f"many-{n:03}", "positions": 1})
    see(opened, page, "overview")
    eventually(lambda: page.inner_text("#overview-note"), lambda text: text.startswith("123 rankings"), page)
    assert page.locator("#rankings th").count() == 100
    page.evaluate("document.getElementById('rankings-box').scrollTop = 1e9")
    eventually(lambda: page.locator("#rankings th a").all_inner_texts(), lambda names: "topics" in names, page)
    for name in ("long", *(f"many-{n:03}" for n in range(120))):
        opened.server.ask_none("DELETE", f"/v1/rankings/{name}")
    assert watched.errors == []


def test_a_key_is_asked_for_and_kept_in_memory_alone(opened: Running, page: Page) -> None:
    page.goto(f"{opened.keyed.url}/#shop/events")
    page.wait_for_selector("#ask:not([hidden])")
    page.fill("#key", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#status.ill")
    page.wait_for_selector("#ask:not([hidden])")
    page.fill("#key", KEY)
    page.keyboard.press("Enter")
    is_live(page)
    assert page.is_hidden("#ask")
    assert "boss" in page.inner_text("#requests")
    page.click("#show-key")  # for another one
    assert page.is_visible("#key")
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

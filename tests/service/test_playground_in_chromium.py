"""The playground in a real Chromium: curves draw themselves, links carry the set-up, and everybody can use it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest
from browsing import Server, Watched, chromium, clear, eventually
from playwright.sync_api import Browser, Download, Page

import toplist
from toplist.logs import FittedModel
from toplist.logs.models import MODELS
from toplist.service.http.auth import hash_api_key

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
KEY = "toplist_key-of-the-playground"
# Short enough to be played without compiling.
LINK = "users=dbn&p.satisfaction=0.6&items=8&positions=3&change=once&every=100&steps=200&runs=3&seed=4"
POLICIES = "policy=cascade-ucb1(scale%3D0.5)&policy=random"
LONG = "items=20&steps=1000000&runs=100&policy=cascade-ucb1"
PATIENCE = 300_000.0  # milliseconds: it waits for a process of low priority


class Opened:
    """A Chromium, a service without keys, one with a key, and one without a playground."""

    def __init__(self, browser: Browser, *servers: Server) -> None:
        self.browser = browser
        self.open, self.keyed, self.off = servers


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp
        servers = [
            Server(folder("open"), **{"playground.seconds": "600"}),
            Server(folder("keyed"), **{"playground.seconds": "600", "keys": f"boss:admin:{hash_api_key(KEY)}"}),
            Server(folder("off"), **{"playground.enabled": "false"}),
        ]
        for server in servers:
            server.start()
            stack.callback(server.stop)
        yield Opened(stack.enter_context(chromium()), *servers)


def view(opened: Opened, width: int = 1000, scheme: Literal["light", "dark"] = "light") -> Page:
    context = opened.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    return context.new_page()


@pytest.fixture(scope="module")
def kept_page(opened: Opened) -> Page:
    """One page for all tests that need no other: a new one takes as long as a test."""
    return view(opened)


@pytest.fixture
def page(kept_page: Page) -> Iterator[Page]:
    """The page, empty, without what the test before has left."""
    yield kept_page
    clear(kept_page)


def go(page: Page, server: Server, fragment: str = f"{LINK}&{POLICIES}") -> None:
    page.goto(f"{server.url}/playground#{fragment}")
    page.wait_for_selector("#setup:not([hidden])")


def play(page: Page) -> None:
    page.click("#run")
    page.wait_for_selector("#status.well:has-text('done')", timeout=PATIENCE)


def text_of(download: Download) -> str:
    return Path(download.path()).read_text()


def test_curves_draw_themselves_and_can_be_saved(opened: Opened, page: Page) -> None:
    watched = Watched(page)
    go(page, opened.open)
    play(page)
    assert page.locator("#chart canvas").count() == 1
    label = page.get_attribute("#chart", "aria-label") or ""
    assert label.startswith("Regret after 200 lists: cascade-ucb1(scale=0.5) ")
    assert page.locator("#rows tr").count() == 2
    assert page.evaluate("document.getElementById('progress').value") == 1
    with page.expect_download() as saved:
        page.click("#csv")
    rows = list(csv.DictReader(io.StringIO(text_of(saved.value))))
    made: dict[str, Any] = {}
    exec(page.text_content("#python") or "", made)  # the Python gives the same numbers
    result: toplist.Result = made["result"]
    for policy in result.policies:
        mine = [row for row in rows if row["policy"] == policy]
        assert [float(row["regret"]) for row in mine] == result.mean(policy).tolist()
        assert [float(row["clicks"]) for row in mine] == result.mean(policy, "clicks").tolist()
    with page.expect_download() as saved:
        page.click("#png")
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    page.select_option("#metric", "clicks")
    assert (page.get_attribute("#chart", "aria-label") or "").startswith("Clicks per list after 200 lists")
    assert watched.errors == []


def test_a_link_fills_in_the_form_and_runs_nothing(opened: Opened, page: Page) -> None:
    watched = Watched(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    go(page, opened.open)
    assert page.input_value("[name=users]") == "dbn"
    assert page.input_value("[name=satisfaction]") == "0.6"
    assert page.input_value("[name=every]") == "100"
    assert page.locator("#policies input").evaluate_all("inputs => inputs.map(each => each.value)") == [
        "cascade-ucb1(scale=0.5)", "random",
    ]  # fmt: skip
    assert not [each for each in asked if each.startswith("POST")]
    page.fill("[name=runs]", "2")
    play(page)
    assert "runs=2" in page.url  # the address is the set-up that was played
    again = view(opened)
    go(again, opened.open, page.url.partition("#")[2])
    assert again.input_value("[name=runs]") == "2"
    again.context.close()
    assert watched.errors == []


def test_a_hostile_link_is_text(opened: Opened, page: Page) -> None:
    watched = Watched(page)
    hostile = "%3Cimg src=x onerror=\"document.title='owned'\"%3E"
    go(page, opened.open, f"policy={hostile}&users={hostile}&items=1e9&p.{hostile}=1&change={hostile}")
    page.fill("[name=items]", "20")
    page.click("#run")
    page.wait_for_selector("#status.ill:has-text('The policy is')")
    assert page.title() == "toplist playground"
    assert [each for each in watched.errors if "422" not in each] == []


def test_cancel_ends_it(opened: Opened, page: Page) -> None:
    go(page, opened.open, LONG)
    page.click("#run")
    page.wait_for_selector("#outcome:not([hidden])", timeout=PATIENCE)
    page.click("#cancel")
    page.wait_for_selector("#status:has-text('cancelled')")
    assert page.is_enabled("#run")
    go(page, opened.open)  # another one does not wait for it
    page.reload()
    play(page)


def test_a_fitted_model_is_uploaded(opened: Opened, page: Page, tmp_path: Path) -> None:
    model = MODELS["dcm"]._replace(positions=2)  # type: ignore[attr-defined]
    own = {query: {"a": [0.6], "b": [0.4], "c": [0.2]} for query in ("shoes", "hats")}
    shared = dict.fromkeys(own, [0.5] * len(model.coins().shared))
    FittedModel.from_values(model, own, shared).save(tmp_path / "model.json")
    watched = Watched(page)
    go(page, opened.open, "positions=2&steps=100&runs=2&policy=random")
    page.select_option("[name=users]", "fitted")
    page.click("#run")
    page.wait_for_selector("#status.ill:has-text('Choose the file')")
    page.set_input_files("[name=file]", tmp_path / "model.json")
    page.wait_for_selector("#status:has-text('The model has 2 queries')")
    page.fill("[name=query]", "hats")
    play(page)
    assert "model.world('hats', 2)" in (page.text_content("#python") or "")
    (tmp_path / "other.json").write_text(json.dumps({"queries": "none"}))
    page.set_input_files("[name=file]", tmp_path / "other.json")
    page.wait_for_selector("#status:has-text('This file is no model')")
    assert watched.errors == []


def test_it_needs_an_admin_key_where_there_are_keys(opened: Opened, page: Page) -> None:
    page.goto(f"{opened.keyed.url}/playground#{LINK}&{POLICIES}")
    page.wait_for_selector("#ask:not([hidden])")
    assert page.is_hidden("#setup")
    page.fill("#key", KEY)
    page.keyboard.press("Enter")
    page.wait_for_selector("#setup:not([hidden])")
    assert page.input_value("#key") == ""
    play(page)
    assert KEY not in page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")


def test_a_service_without_a_playground_says_so(opened: Opened, page: Page) -> None:
    page.goto(f"{opened.off.url}/playground")
    page.wait_for_selector("#status.ill:has-text('The playground is off on this server')")
    assert page.is_hidden("#setup")


@pytest.mark.parametrize(("width", "scheme"), [(1000, "light"), (1000, "dark"), (360, "light"), (360, "dark")])
def test_it_is_accessible_and_fits(opened: Opened, width: int, scheme: Literal["light", "dark"]) -> None:
    page = view(opened, width, scheme)
    watched = Watched(page)
    go(page, opened.open)
    play(page)
    page.click("summary")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    told = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]
    assert told == []
    assert len(found["passes"]) > 20
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.errors == []
    page.context.close()


def test_it_works_by_keyboard(opened: Opened, page: Page) -> None:
    go(page, opened.open)
    reached: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.name || ''"))
        if reached[-1] == "run":
            break
    assert {"users", "items", "change", "add", "steps", "run"} <= set(reached)
    page.keyboard.press("Enter")
    page.wait_for_selector("#status.well:has-text('done')", timeout=PATIENCE)
    eventually(lambda: page.is_enabled("#run"), bool, page)

"""The tracker in a real Chromium: what is seen and clicked is reported once, whatever page, browser or server do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from browsing import FAULTS, FaultyProxy, Server, Site, Watched, chromium, eventually
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


class Shop:
    """A service, its proxy, a site, and a Chromium."""

    def __init__(self, server: Server, proxy: FaultyProxy, site: Site, browser: Browser) -> None:
        self.server, self.proxy, self.site, self.browser = server, proxy, site, browser

    def make_list(self, **more: Any) -> dict[str, Any]:
        made: dict[str, Any] = self.server.ask("POST", "/v1/rankings/shop/lists", json={"token": True, **more})
        return made

    def url(self, made: dict[str, Any], **query: str) -> str:
        more = "".join(f"&{name}={value}" for name, value in query.items())
        return f"{self.site.url}/list?token={made['token']}{more}"

    def known(self, made: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.server.ask("GET", f"/v1/impressions/{made['impression']}")
        return found

    def clicks(self, made: dict[str, Any]) -> list[int]:
        found: list[int] = self.known(made)["clicks"]
        return found

    def reports(self, made: dict[str, Any]) -> list[str]:
        """The reports on a list that browsers sent; those of earlier pages may come late."""
        return [body for body in self.proxy.reports if json.loads(body)["token"] == made["token"]]

    def learned(self, made: dict[str, Any]) -> list[Any]:
        """The outcomes in the event log of a list that was learned."""
        reply = self.server.ask_lines("/v1/rankings/shop/events")
        return [
            event["body"] for event in reply if event["impression"] == made["impression"] and event["kind"] == "learned"
        ]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with ExitStack() as stack:
        proxies: list[FaultyProxy] = []
        site = Site(lambda: proxies[0].url)
        stack.callback(site.close)
        server = Server(tmp_path_factory.mktemp("shop"), [site.url])
        server.start()
        stack.callback(server.stop)
        proxies.append(FaultyProxy(server))
        stack.callback(proxies[0].close)
        server.ask("POST", "/v1/rankings", json={"name": "shop", "positions": 3, "policy": "cascade-ucb1"})
        items = [{"id": f"item-{n}"} for n in range(6)]
        server.ask("PUT", "/v1/rankings/shop/items", json={"items": items})
        browser = stack.enter_context(chromium())
        yield Shop(server, proxies[0], site, browser)


@pytest.fixture
def shop(opened: Shop) -> Iterator[Shop]:
    """The same, without faults of the test before."""
    opened.proxy.fault = ""
    yield opened
    opened.proxy.fault = ""


@pytest.fixture
def page(shop: Shop) -> Iterator[Page]:
    context = shop.browser.new_context(viewport={"width": 800, "height": 600})
    yield context.new_page()
    context.close()


def outbox(page: Page) -> list[str]:
    """The reports that wait in the browser."""
    found: list[str] = page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('toplist:'))")
    return found


def become(page: Page, state: str) -> None:
    """Hide or show a page, as another window before it does."""
    change = "Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });"
    page.evaluate(f"(state) => {{ {change} document.dispatchEvent(new Event('visibilitychange')); }}", state)


def hide_and_show(page: Page) -> None:
    become(page, "hidden")
    become(page, "visible")


def test_clicks_of_all_kinds_count_once_and_others_do_not(shop: Shop, page: Page) -> None:
    watched, made = Watched(page), shop.make_list()
    page.goto(shop.url(made))
    page.dblclick("#a1")
    page.click("#b1")  # the same item again
    page.click("#s2")  # no link
    page.click("#a2", button="right")
    page.evaluate("document.querySelector('#a2').click()")  # by a script, not by the visitor
    page.focus("#a3")
    page.keyboard.press("Enter")
    assert eventually(lambda: shop.clicks(made), lambda found: len(found) == 2, page) == [1, 3]
    page.click("#a2", button="middle")
    assert eventually(lambda: shop.clicks(made), lambda found: len(found) == 3, page) == [1, 2, 3]
    eventually(lambda: outbox(page), lambda kept: kept == [], page)
    assert shop.known(made)["state"] == "open"
    assert watched.errors == []


def test_what_was_in_view_for_a_second_is_seen_and_the_rest_is_not(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.goto(shop.url(made, gap="1"))
    page.wait_for_timeout(1500)
    hide_and_show(page)
    assert shop.reports(made) == []  # nothing was seen, which needs no report
    page.evaluate("document.querySelector('#a1').scrollIntoView({ block: 'end' })")
    page.wait_for_timeout(300)
    page.evaluate("scrollTo(0, 0)")  # too short
    page.wait_for_timeout(1500)
    hide_and_show(page)
    assert shop.known(made)["seen"] is None
    bottom = "document.querySelector('#a1').getBoundingClientRect().bottom + scrollY"
    page.evaluate(f"scrollTo(0, {bottom} - innerHeight + 40)")
    page.wait_for_timeout(1500)
    hide_and_show(page)
    found = eventually(lambda: shop.known(made), lambda found: found["seen"], page)
    assert (found["seen"], found["left"], found["clicks"], found["state"]) == ({"1": 1.0}, 1, [], "open")
    page.evaluate("scrollTo(0, 9999)")
    page.wait_for_timeout(1500)
    hide_and_show(page)
    found = eventually(lambda: shop.known(made), lambda found: found["left"] == 3, page)
    assert found["seen"] == {"1": 1.0, "2": 1.0, "3": 1.0}


def test_an_item_taller_than_the_window_is_seen_when_it_fills_half_of_it(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.goto(shop.url(made, gap="1", tall="1"))  # the list begins at 4,000 pixels
    page.wait_for_timeout(300)
    page.evaluate("scrollTo(0, 4000 - innerHeight + 30)")  # its edge alone
    page.wait_for_timeout(1500)
    hide_and_show(page)
    assert shop.reports(made) == []
    page.evaluate("scrollTo(0, 4000)")  # less than a tenth of the item, and the whole window
    page.wait_for_timeout(1500)
    hide_and_show(page)
    found = eventually(lambda: shop.known(made), lambda found: found["seen"], page)
    assert found["seen"] == {"1": 1.0}


def test_a_page_that_ends_reports_finally(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.goto(shop.url(made))
    page.click("#a2")
    page.close(run_before_unload=True)
    found = eventually(lambda: shop.known(made), lambda found: found["state"] == "learned")
    assert (found["clicks"], found["reason"]) == ([2], "final")
    assert len(shop.learned(made)) == 1


def test_a_list_that_nobody_scrolled_to_is_closed_as_not_seen(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.goto(shop.url(made, gap="1"))
    page.wait_for_timeout(200)
    page.close(run_before_unload=True)
    found = eventually(lambda: shop.known(made), lambda found: found["state"] == "learned")
    assert (found["clicks"], found["seen"]) == ([], {})


def test_a_hidden_page_reports_but_not_finally(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.goto(shop.url(made))
    page.click("#a1")
    become(page, "hidden")
    assert eventually(lambda: shop.clicks(made), bool, page) == [1]
    assert shop.known(made)["state"] == "open"
    assert len(outbox(page)) == 1  # a beacon has no reply
    become(page, "visible")
    eventually(lambda: outbox(page), lambda kept: kept == [], page)
    assert [json.loads(body)["final"] for body in shop.reports(made)].count(True) == 0


def test_back_from_the_back_forward_cache_the_list_goes_on(shop: Shop, page: Page) -> None:
    watched, made = Watched(page), shop.make_list()
    page.goto(shop.url(made, to="/empty"))
    page.evaluate("window.mark = 'the same page'")
    page.click("#a1")
    page.wait_for_url("**/empty")
    assert eventually(lambda: shop.clicks(made), bool, page) == [1]
    page.evaluate("history.back()")
    eventually(lambda: shown(page), lambda found: found == [False, True], page)  # persisted: not loaded again
    assert page.evaluate("window.mark") == "the same page"
    assert shop.known(made)["state"] == "open"
    page.click("#b3")
    assert eventually(lambda: shop.clicks(made), lambda found: len(found) == 2, page) == [1, 3]
    page.close(run_before_unload=True)
    eventually(lambda: shop.known(made)["state"], lambda state: state == "learned")
    (outcome,) = shop.learned(made)
    assert outcome["merged"]["clicks"] == [1, 3]
    assert watched.errors == []


def shown(page: Page) -> Any:
    """Whether each showing of the page came from the back-forward cache; None while it changes."""
    try:
        return page.evaluate("window.shown")
    except Exception:
        return None


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_a_server_does_a_click_counts_once(shop: Shop, page: Page, fault: str) -> None:
    made = shop.make_list()
    shop.proxy.fault = fault
    page.goto(shop.url(made, to="/empty"))
    page.click("#a2")
    page.wait_for_url("**/empty")
    eventually(lambda: shop.reports(made), lambda sent: len(sent) >= 2, page)  # as the page ended, and by the next one
    shop.proxy.fault = ""
    assert eventually(lambda: shop.clicks(made), bool, page) == [2]
    eventually(lambda: outbox(page), lambda kept: kept == [], page)
    page.close()
    assert shop.clicks(made) == [2]
    assert {tuple(entry["position"] for entry in json.loads(body)["clicks"]) for body in shop.reports(made)} == {(2,)}


def test_a_click_survives_a_restart_of_the_server(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.goto(shop.url(made, to="/empty"))
    shop.server.stop()
    page.click("#a3")
    page.wait_for_url("**/empty")
    eventually(lambda: shop.reports(made), bool, page)
    assert len(outbox(page)) == 1
    shop.server.start()
    assert eventually(lambda: shop.clicks(made), bool, page) == [3]
    eventually(lambda: outbox(page), lambda kept: kept == [], page)


def test_what_happens_offline_waits_for_the_network(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.goto(shop.url(made))
    page.context.set_offline(True)
    page.click("#a1")
    page.wait_for_timeout(2500)
    assert shop.clicks(made) == []
    assert len(outbox(page)) == 1
    page.context.set_offline(False)
    assert eventually(lambda: shop.clicks(made), bool, page) == [1]
    eventually(lambda: outbox(page), lambda kept: kept == [], page)


def test_without_storage_the_page_itself_remembers(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); }")
    shop.proxy.fault = "unavailable"
    page.goto(shop.url(made))
    page.click("#a1")
    eventually(lambda: shop.reports(made), bool, page)
    shop.proxy.fault = ""
    assert eventually(lambda: shop.clicks(made), bool, page) == [1]


def test_when_the_storage_becomes_full_the_latest_report_is_sent(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    shop.proxy.fault = "unavailable"
    page.goto(shop.url(made))
    page.click("#a1")
    eventually(lambda: outbox(page), bool, page)
    page.evaluate("void (Storage.prototype.setItem = () => { throw new Error('full'); })")
    page.click("#a2")
    shop.proxy.fault = ""
    assert eventually(lambda: shop.clicks(made), lambda found: len(found) == 2, page) == [1, 2]
    eventually(lambda: outbox(page), lambda kept: kept == [], page)


def test_two_pages_with_the_same_list_keep_a_report_each(shop: Shop, page: Page) -> None:
    made, other = shop.make_list(), page.context.new_page()
    shop.proxy.fault = "unavailable"
    for each, link in ((page, "#a1"), (other, "#a3")):
        each.goto(shop.url(made, more="data-toplist-open"))  # a page that ends would close the list for the other
        each.click(link)
    eventually(lambda: outbox(page), lambda kept: len(kept) == 2, page)
    other.close()
    shop.proxy.fault = ""
    hide_and_show(page)
    assert eventually(lambda: shop.clicks(made), lambda found: len(found) == 2, page) == [1, 3]
    eventually(lambda: outbox(page), lambda kept: kept == [], page)


def test_a_visitor_whose_clock_is_fast_is_heard(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.add_init_script("const now = Date.now; Date.now = () => now() + 12 * 3600 * 1000;")
    page.goto(shop.url(made))
    page.click("#a1")
    assert eventually(lambda: shop.clicks(made), bool, page) == [1]


def test_a_list_that_stays_open_is_not_closed_by_leaving(shop: Shop, page: Page) -> None:
    made = shop.make_list()
    page.goto(shop.url(made, more="data-toplist-open"))
    page.click("#a1")
    page.close(run_before_unload=True)
    assert eventually(lambda: shop.clicks(made), bool) == [1]
    assert shop.known(made)["state"] == "open"


def test_a_report_of_another_origin_is_refused_and_counts_nothing(shop: Shop, page: Page) -> None:
    watched, made = Watched(page), shop.make_list()
    page.goto(shop.url(made).replace("127.0.0.1", "localhost"))
    page.click("#a1")
    eventually(lambda: watched.errors, bool, page)
    assert any("Access-Control-Allow-Origin" in error for error in watched.errors)
    assert shop.clicks(made) == []

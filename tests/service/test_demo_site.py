"""The example page of the demo: its lists come with tokens, its policy is strict, and hostile titles are text."""

from __future__ import annotations

import asyncio
import re
import socket
from html import unescape

import httpx
from asking import LocalService, Make

from toplist.service.browser_settings import BrowserSettings
from toplist.service.client import AsyncClient, Retries
from toplist.service.demo_site import NewsSite, SiteReply

ARTICLES = ["Storm expected on Sunday", '<script>alert("1")</script>', "Tea & cake"]
SERVICE = "http://127.0.0.1:8600"


def site_of(service: LocalService, ranking: str = "front-page") -> tuple[NewsSite, AsyncClient]:
    client = AsyncClient("http://localhost", transport=httpx.ASGITransport(service.app), retries=Retries(0))
    return NewsSite(client, SERVICE, ranking, ARTICLES), client


def with_articles(make_service: Make) -> LocalService:
    service = make_service(browser=BrowserSettings(secrets=["demo:" + "x" * 32]))
    service.ask("POST", "/v1/rankings", json={"name": "front-page", "positions": 4})
    items = [{"id": title} for title in (*ARTICLES, "added by somebody")]
    service.ask("PUT", "/v1/rankings/front-page/items", json={"items": items})
    return service


def test_the_front_page_is_a_list_with_its_token(make_service: Make) -> None:
    service = with_articles(make_service)
    site, _ = site_of(service)
    reply = service.run(site.answer("/"))
    assert (reply.status, reply.media) == (200, "text/html; charset=utf-8")
    (impression,) = service.double.lists
    (token,) = re.findall(r'data-toplist="([^"]+)"', reply.body)
    assert impression.replace("-", "") in token
    titles = re.findall(r'<li data-toplist-position="(\d)"><a href="(/article/\w+)">(.*?)</a>', reply.body)
    shown = service.double.lists[impression].items
    assert [(int(at), unescape(title)) for at, _, title in titles] == list(enumerate(shown, 1))
    assert "<script>alert" not in reply.body
    for _, link, title in titles:
        found = service.run(site.answer(link))
        known = unescape(title) in ARTICLES
        assert (found.status, f"<h1>{title}</h1>" in found.body) == ((200, True) if known else (404, False))


def test_its_policy_allows_its_own_style_and_the_tracker_alone(make_service: Make) -> None:
    site, _ = site_of(with_articles(make_service))
    head = site.headers(SiteReply(200, "text/html", ""), 0)
    assert f"script-src {SERVICE};" in head
    assert "unsafe" not in head
    assert "no-store" not in head  # it would keep the page out of the back-forward cache
    page = asyncio.run(site.answer("/article/0")).body
    assert not re.search(r"\son\w+=|\sstyle=|<style|<script>", page)


def test_unknown_pages_and_a_service_that_is_away(make_service: Make) -> None:
    site, client = site_of(with_articles(make_service), "another")
    assert asyncio.run(site.answer("/")).status == 503
    for path in ("/article/3", "/article/-1", "/article/x", "/article/" + "9" * 5000, "/nothing", "//"):
        assert asyncio.run(site.answer(path)).status == 404
    asyncio.run(client.close())


def test_it_is_served_over_http(make_service: Make) -> None:
    service = with_articles(make_service)
    site, _ = site_of(service)

    async def ask() -> list[httpx.Response]:
        listener = socket.create_server(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with site.serving(listener), httpx.AsyncClient() as browser:
            return [
                await browser.get(f"{url}/?from=a"),
                await browser.get(f"{url}/style.css"),
                await browser.head(f"{url}/article/2"),
                await browser.post(url, content=b"x"),
            ]

    front, style, head, post = service.run(ask())
    assert [reply.status_code for reply in (front, style, head, post)] == [200, 200, 200, 405]
    assert "data-toplist=" in front.text
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert (head.content, int(head.headers["content-length"]) > 500) == (b"", True)

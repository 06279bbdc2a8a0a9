"""The example page of the demo: a small news site whose front page the service ranks, with the tracker in it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from html import escape
from typing import NamedTuple

from toplist.core.item_id import ItemId
from toplist.service.client import AsyncClient, ServiceError, Unreachable

LONGEST_HEAD = 16 << 10  # bytes
PATIENCE = 30.0  # seconds for a request to arrive
PHRASES = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
HTML, CSS = "text/html; charset=utf-8", "text/css; charset=utf-8"

STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --paper: #fbfaf8; --soft: #5c5c63; --line: #dedbd4; --link: #1f4fb4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececee; --paper: #131416; --soft: #a6a7ae; --line: #33363c; --link: #93b6ff; }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 40rem; padding: 1.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1.0625rem/1.6 Georgia, "Times New Roman", serif; overflow-wrap: anywhere;
}
header { border-bottom: 3px double var(--line); padding-bottom: 0.75rem; margin-bottom: 1.5rem; }
h1 { margin: 0; font-size: 1.75rem; letter-spacing: -0.01em; }
header p, footer { color: var(--soft); font-size: 0.875rem; margin: 0.25rem 0 0; }
ol { list-style: none; margin: 0; padding: 0; }
li { padding: 1.1rem 0; border-bottom: 1px solid var(--line); }
li a { font-size: 1.25rem; font-weight: 700; text-decoration: none; }
li p { margin: 0.35rem 0 0; color: var(--soft); }
a { color: var(--link); }
a:hover { text-decoration: underline; }
a:focus-visible { outline: 2px solid var(--link); outline-offset: 3px; }
footer { margin-top: 2rem; }
"""
FILLER = (
    "The council met twice, and the second meeting was the longer one.",
    "Nobody had expected so many people on a Tuesday morning.",
    "A decision is promised before the summer holidays.",
)


class SiteReply(NamedTuple):
    """What a browser gets."""

    status: int
    media: str
    body: str


class NewsSite:
    """A news site; each visit of its front page asks the service for a list, with a token for the browser.

    Parameters
    ----------
    client : AsyncClient
        The client of the service.
    service : str
        URL of the service, from which pages load the tracker.
    ranking : str
        Name of the ranking of the front page.
    articles : sequence of str
        All articles, which are also the items of the ranking.
    """

    def __init__(self, client: AsyncClient, service: str, ranking: str, articles: Sequence[str]) -> None:
        self._client, self._service, self._ranking = client, service.rstrip("/"), ranking
        self._articles = list(articles)
        self._numbers = {title: number for number, title in enumerate(self._articles)}

    async def answer(self, path: str) -> SiteReply:
        """The reply to a request."""
        if path == "/style.css":
            return SiteReply(200, CSS, STYLE)
        if path == "/":
            return await self._front_page()
        kind, _, number = path.removeprefix("/").partition("/")
        if kind == "article" and number.isdecimal() and int(number[:9]) < len(self._articles):
            return self._article(self._articles[int(number)])
        return SiteReply(404, HTML, self._page("Not found", "<p>There is no such page.</p>"))

    async def _front_page(self) -> SiteReply:
        try:
            shown = await self._client.make_list(self._ranking, token=True)
        except (ServiceError, Unreachable):
            text = "<p>The service is starting or stopping. Load this page again in a moment.</p>"
            return SiteReply(503, HTML, self._page("The Daily List", text))
        entries = "\n".join(
            f'<li data-toplist-position="{position}"><a href="/article/{self._link(item)}">'
            f"{escape(str(item))}</a><p>{FILLER[position % len(FILLER)]}</p></li>"
            for position, item in enumerate(shown.items, 1)
        )
        tracker = f'<script type="module" src="{self._service}/assets/tracker.js"></script>'
        body = f'<ol data-toplist="{escape(str(shown.token))}">\n{entries}\n</ol>\n{tracker}'
        return SiteReply(200, HTML, self._page("The Daily List", body))

    def _link(self, item: ItemId) -> str:
        """The name of an article's page; of an item that somebody added, one that does not exist."""
        return str(self._numbers.get(str(item), "new"))

    def _article(self, title: str) -> SiteReply:
        paragraphs = "".join(f"<p>{text}</p>" for text in FILLER)
        return SiteReply(200, HTML, self._page(title, f'{paragraphs}<p><a href="/">Back to the front page</a></p>'))

    def _page(self, title: str, body: str) -> str:
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header><h1>{escape(title)}</h1><p>An example page: what you look at and click here, the service learns.</p></header>
<main>
{body}
</main>
<footer><a href="{escape(self._service)}/">Watch the service learn</a></footer>
</body>
</html>
"""

    def headers(self, reply: SiteReply, size: int) -> str:
        """The head of a response; its policy allows the tracker and reports to the service, and nothing else."""
        policy = (
            f"default-src 'none'; script-src {self._service}; connect-src {self._service}; style-src 'self'; "
            f"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        lines = [
            f"HTTP/1.1 {reply.status} {PHRASES[reply.status]}",
            f"Content-Type: {reply.media}",
            f"Content-Length: {size}",
            f"Content-Security-Policy: {policy}",
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: same-origin",
            "Cache-Control: no-cache",  # no-store would keep the page out of the back-forward cache
            "Connection: close",
        ]
        return "\r\n".join(lines) + "\r\n\r\n"

    @asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        """Serve on a listening socket until the end of the block."""
        server = await asyncio.start_server(self._connected, sock=listener, limit=LONGEST_HEAD)
        try:
            yield
        finally:
            server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of a connection."""
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                method, _, rest = head.decode("latin-1").partition(" ")
                path = rest.partition(" ")[0].partition("?")[0]
                reply = SiteReply(405, HTML, "") if method not in ("GET", "HEAD") else await self.answer(path)
                body = reply.body.encode()
                writer.write(self.headers(reply, len(body)).encode("latin-1"))
                if method == "GET":
                    writer.write(body)
                await writer.drain()
        with suppress(OSError):
            writer.close()
            await writer.wait_closed()

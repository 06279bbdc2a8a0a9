"""Pictures of every view in both themes and at the size of a phone: `make screenshots`.

They show `toplist demo` after some seconds of visitors, with a few more rankings, in out/screenshots. With `--readme`,
two of them also become those of the README.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
SIZES = {"desktop": (1100, 900), "phone": (360, 740)}
# Short enough to be played without compiling.
PLAYGROUND = "playground#users=dbn&change=once&every=250&steps=500&runs=4&policy=dcm-ts&policy=random"
SIMULATED = 240_000.0  # milliseconds
README = {"dashboard": ("order", (1100, 900)), "example_page": ("site", (360, 740))}  # view and size of pictures
VIEWS = {
    "overview": "#/",
    "new": "#/new",
    "order": "#news",
    "uplift": "#news/uplift",
    "events": "#news/events",
    "change": "#news/change?item=Storm+expected+on+Sunday",
    "topics": "#recipes/topics?segment=evening",
    "segment": "#recipes?segment=evening",
}
TOPICS = ("soup", "bread", "salad", "cake")


def stock(service: str) -> None:
    """Make a ranking over topics with segments, and some small ones, for the views that the demo does not fill."""
    rng = random.Random(1)
    with httpx.Client(base_url=service, timeout=60) as client:

        def ask(method: str, path: str, body: Any) -> Any:
            reply = client.request(method, f"/v1/{path}", json=body)
            reply.raise_for_status()
            return reply.json()

        spec = {"positions": 3, "policy": "cascade-lin-ucb", "features": 4, "holdout": 0.3}
        ask("POST", "rankings", {"name": "recipes", **spec})
        rows = [(f"{topic} {n + 1}", at) for n in range(3) for at, topic in enumerate(TOPICS)]
        items = [{"id": name, "features": [1.0 if at == k else 0.1 for k in range(4)]} for name, at in rows]
        ask("PUT", "rankings/recipes/items", {"items": items})
        for n in range(240):
            segment = "evening" if n % 2 else "morning"
            made = ask("POST", "rankings/recipes/lists", {"segment": segment, "visitor": f"v{n // 2}"})
            liked = "soup" if segment == "evening" else "bread"
            clicks = [
                at for at, item in enumerate(made["items"], 1)
                if rng.random() < (0.5 if item.startswith(liked) else 0.08)
            ]  # fmt: skip
            ask("PUT", f"impressions/{made['impression']}/clicks", {"clicks": clicks[:1], "final": True})
        for name, reference in (("books", 0.2), ("garden", None), ("shoes", None), ("trains", 0.4)):
            ask("POST", "rankings", {"name": name, "positions": 2, "reference": reference})
            ask("PUT", f"rankings/{name}/items", {"items": [{"id": f"{name} {n}"} for n in range(8)]})
            for _ in range(60):
                made = ask("POST", f"rankings/{name}/lists", {})
                clicks = [1] if rng.random() < 0.3 else []
                ask("PUT", f"impressions/{made['impression']}/clicks", {"clicks": clicks, "final": True})


@contextmanager
def demo(folder: Path, rate: float) -> Iterator[dict[str, str]]:
    """The demo in a process; the addresses of its pages."""
    command = [sys.executable, "-u", "-m", "toplist", "demo", "--folder", str(folder), "--port", "0"]
    with subprocess.Popen([*command, "--rate", str(rate)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found: dict[str, str] = {}
        for line in process.stdout:
            if address := re.search(r"(http://\S+?/)(?:,|$)", line):
                found["dashboard" if line.startswith("Watch") else "site"] = address[1]
            if "dashboard" in found:
                break
        try:
            yield found
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def addresses(pages: dict[str, str]) -> dict[str, str]:
    """The address of every view."""
    others = {"playground": pages["dashboard"] + PLAYGROUND, "site": pages["site"]}
    return {name: pages["dashboard"] + hash for name, hash in VIEWS.items()} | others


def take(browser: Browser, pages: dict[str, str], out: Path) -> list[str]:
    """Take all pictures; their names."""
    names: list[str] = []
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        for size, (width, height) in SIZES.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            for name, address in addresses(pages).items():
                page = context.new_page()
                page.goto(address)
                if name in VIEWS:
                    page.wait_for_selector("#status.well:has-text('live')")
                if name == "playground":
                    page.click("#run")
                    page.wait_for_selector("#status.well:has-text('done')", timeout=SIMULATED)
                page.wait_for_timeout(1000)
                names.append(f"{name}-{size}-{scheme}")
                page.screenshot(path=out / f"{names[-1]}.png", full_page=True)
                page.close()  # its stream takes one of the few connections of the browser
            context.close()
    return names


def main() -> None:
    """Run the demo and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "screenshots")
    parser.add_argument("--seconds", type=float, default=45.0, help="of visitors before the first picture")
    parser.add_argument("--rate", type=float, default=100.0, help="visitors per second")
    parser.add_argument("--readme", action="store_true", help="replace the pictures of the README")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with (
        tempfile.TemporaryDirectory() as temporary,
        demo(Path(temporary), arguments.rate) as pages,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        stock(pages["dashboard"].rstrip("/"))
        browser.new_page().wait_for_timeout(arguments.seconds * 1000.0)
        names = take(browser, pages, arguments.out)
        if arguments.readme:
            for picture, (view, (width, height)) in README.items():
                page = browser.new_page(viewport={"width": width, "height": height})
                page.goto(addresses(pages)[view])
                page.wait_for_timeout(2000)
                page.screenshot(path=ROOT / "docs" / "pictures" / f"{picture}.png")
        browser.close()
    print("\n".join(str(arguments.out / f"{name}.png") for name in names))


if __name__ == "__main__":
    main()

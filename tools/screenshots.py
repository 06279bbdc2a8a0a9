"""Pictures of every view in both themes and at the size of a phone: `make screenshots`.

They show `toplist demo` after some seconds of visitors, in out/screenshots. With `--readme`, two of them also become
those of the README.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
SIZES = {"desktop": (1100, 900), "phone": (360, 740)}
README = {"dashboard": ("dashboard", (1100, 900)), "example_page": ("site", (360, 740))}  # view and size of pictures


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


def take(browser: Browser, pages: dict[str, str], out: Path) -> list[str]:
    """Take all pictures; their names."""
    names: list[str] = []
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        for size, (width, height) in SIZES.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            for name, address in pages.items():
                page = context.new_page()
                page.goto(address)
                if name == "dashboard":
                    page.wait_for_selector("#status.well:has-text('live')")
                page.wait_for_timeout(500)
                names.append(f"{name}-{size}-{scheme}")
                page.screenshot(path=out / f"{names[-1]}.png", full_page=True)
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
        browser.new_page().wait_for_timeout(arguments.seconds * 1000.0)
        names = take(browser, pages, arguments.out)
        if arguments.readme:
            for picture, (view, (width, height)) in README.items():
                page = browser.new_page(viewport={"width": width, "height": height})
                page.goto(pages[view])
                page.wait_for_timeout(2000)
                page.screenshot(path=ROOT / "docs" / "pictures" / f"{picture}.png")
        browser.close()
    print("\n".join(str(arguments.out / f"{name}.png") for name in names))


if __name__ == "__main__":
    main()

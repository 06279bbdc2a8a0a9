"""Serves the page of a made-up shop, from a ranker that has learned from the shop's log, to a thousand visitors.

It belongs to the tutorial "From a log to a live page", after `toplist train` has written live/all.npz:

    python examples/shop_page.py
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from shop_log import visit

from toplist.service.client import Client

VISITORS = 1000


def main() -> None:
    """Start a service, hand it the ranker, show its lists and report the clicks."""
    command = [sys.executable, "-m", "toplist", "serve", "--store", "shop.db", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            with Client(address) as client:
                serve_visitors(client, random.Random(5))
        finally:
            server.terminate()


def serve_visitors(client: Client, chance: random.Random) -> None:
    """The whole life of the page."""
    client.create_ranking(name="shop", positions=2, policy="exploring(policy='dcm-ts', share=0.1)", propensities=True)
    taken = client.import_ranker("shop", "live/all.npz")
    print(f"The page begins with {taken.items} items and {taken.learned:,} learned lists.")
    clicks = 0
    for _ in range(VISITORS):
        shown = client.make_list("shop")
        clicked = visit([str(item) for item in shown.items], chance)
        client.report(shown, clicks=clicked, final=True)
        clicks += len(clicked)
    print(f"{VISITORS:,} visitors clicked {clicks / VISITORS:.2f} times each.")
    print(f"It has learned {client.estimates('shop').learned:,} lists.")


if __name__ == "__main__":
    main()

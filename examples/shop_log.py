"""Writes the click log of a made-up shop: an editor's list, and in every second visit a random one.

The tutorial "From a log to a live page" begins with it:

    python examples/shop_log.py
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from toplist import Ranker
from toplist.policies.exploring import Exploring
from toplist.policies.fixed_list import ShowList

LISTS, TRAINED = 8000, 2000  # the first ones are to learn from, the others to judge what was learned
TASTES = {"boot": 0.05, "clog": 0.10, "loafer": 0.20, "sandal": 0.30, "sneaker": 0.40}
LEAVES = 0.6  # probability that a visitor has found what they want after a click


def visit(shown: list[str], chance: random.Random) -> list[int]:
    """The positions that a visitor clicks, who looks from the top and may leave after a click."""
    clicked = []
    for position, item in enumerate(shown, start=1):
        if chance.random() < TASTES[item]:
            clicked.append(position)
            if chance.random() < LEAVES:
                break
    return clicked


def main() -> None:
    """Show the lists, and write what was shown and clicked, with the probability of what was shown."""
    chance, items = random.Random(3), sorted(TASTES)
    editor = Ranker(items, positions=2, policy=Exploring(ShowList([0, 2]), share=0.5), seed=1, compiled=False)
    lines = []
    for number in range(LISTS):
        made = editor.rank(propensities=True)
        assert made.propensities is not None
        shown = [str(item) for item in made.items]
        lines.append(json.dumps({
            "time": 60 * number, "visitor": number // 2, "items": shown, "clicked": visit(shown, chance),
            "propensity": made.propensities.conditional.tolist(), "marginal": made.propensities.marginal.tolist(),
        }))  # fmt: skip
    Path("shop.jsonl").write_text("".join(f"{line}\n" for line in lines[:TRAINED]))
    Path("later.jsonl").write_text("".join(f"{line}\n" for line in lines[TRAINED:]))
    print(f"shop.jsonl has {TRAINED:,} lists, later.jsonl {LISTS - TRAINED:,}.")


if __name__ == "__main__":
    main()

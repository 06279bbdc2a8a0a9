"""Attacks with a stolen API key of the scope serve."""

from __future__ import annotations

import json
import uuid
from typing import Any

from ..attacker import Attack, Attacker, message
from ..plan import FRONT, HOME, HOME_FEATURES, HOME_ITEMS, SEARCH, SEGMENTS, TARGET, WIDE

LIMIT = 1 << 20  # bytes of a list by default
MANY = 10_000
PINS = ",".join(f'"{n}":"a"' for n in range(70_000))
ONE_FAULT = f'{{"pins":{{{PINS},"z":1.5}}}}'.encode()
FAULTS = (
    ONE_FAULT,
    ('{"among":[' + ",".join(f'"item-{n}"' for n in range(75_000)) + ",1.5]}").encode(),
    b'{"exclude":' + b"[" * 500_000,
    b'{"segment":"' + b"\\u00e9" * 170_000 + b'","positions":"x"}',
    b'{"seen":{' + b'"1":1,' * 150_000 + b'"1":2}}',
)
NUMBERS = (
    b'{"among":[' + b"7," * (LIMIT // 2 - 20) + b"7]}",
    b'{"exclude":[' + b"7," * (LIMIT // 2 - 20) + b"1.5]}",
    b'{"features":{"item-1":[' + b"0," * (LIMIT // 2 - 20) + b"0]}}",
    b'{"among":[' + b",".join(b"%d" % n for n in range(99_000)) + b"]}",
    b'{"among":[' + b",".join(b"%d" % n for n in range(24_000)) + b"]}",
    b'{"features":{' + b",".join(b'"item-%d":[%s0]' % (n, b"0.5," * 900) for n in range(100)) + b"}}",
)
UNKNOWN_FIELD = b'{"' + b"x" * (LIMIT - 100) + b'": 1}'
LISTS = "/v1/rankings/{}/lists"
CLICKS = "/v1/impressions/{}/clicks"
READS = (
    "/v1/rankings", "/v1/rankings/{ranking}", "/v1/rankings/{ranking}/items?limit=1000",
    "/v1/rankings/{ranking}/items?after=item-{n}", "/v1/rankings/{ranking}/items/item-{n}", "/metrics",
    "/v1/rankings/{ranking}/keys", "/v1/rankings/{ranking}/segments?after=s{n}", "/v1/rankings/{ranking}/history",
    "/v1/rankings/{ranking}/estimates?segment=segment-{segment}", "/v1/rankings/{ranking}/explanation",
    "/v1/impressions/{unknown}", "/v1/impressions/{known}", "/v1/impressions/{known}/explanation",
    "/v1/rankings/{ranking}/events", "/v1/rankings/{unknown}", "/v1/rankings/{ranking}/estimates?limit=99999999999",
)  # fmt: skip


async def faulty_lists(attacker: Attacker) -> None:
    """A body near the limit with one fault."""
    body = attacker.random.choice(FAULTS)
    await attacker.ask("serve", "POST", LISTS.format(FRONT), body)


async def huge_names(attacker: Attacker) -> None:
    """An unknown field with a name near the limit."""
    path = attacker.random.choice((LISTS.format(FRONT), CLICKS.format(uuid.uuid4())))
    await attacker.ask("serve", "PUT" if "clicks" in path else "POST", path, UNKNOWN_FIELD)


async def huge_features(attacker: Attacker) -> None:
    """Features of a request that would ruin a model, and a click."""
    sign = attacker.random.choice((1e6, -1e6))
    features = {f"item-{n}": [sign * (-1) ** column for column in range(HOME_FEATURES)] for n in range(HOME_ITEMS)}
    status, shown = await attacker.ask("serve", "POST", LISTS.format(HOME), {"features": features})
    if status == 200:
        await attacker.ask("serve", "PUT", CLICKS.format(shown["impression"]), {"clicks": [1], "final": True})


async def changes_without_right(attacker: Attacker) -> None:
    """Changes that need another scope, with policies that are hard to make."""
    chance = attacker.random
    policy = chance.choice(("cascade-ducb(eps=None)", "cascade-swucb", "x" * 100_000, "lr(" * 1000))
    method, path, body = chance.choice((
        ("POST", "/v1/rankings", {"name": "mine", "positions": 3, "policy": policy, "steps": 2**53 - 1}),
        ("PATCH", f"/v1/rankings/{FRONT}", {"policy": policy}),
        ("PUT", f"/v1/rankings/{FRONT}/items", {"items": [{"id": f"mine-{n}"} for n in range(1000)]}),
        ("DELETE", f"/v1/rankings/{FRONT}", None),
        ("DELETE", f"/v1/rankings/{FRONT}/segments/segment-1", None),
        ("GET", f"/v1/rankings/{FRONT}/events", None),
    ))  # fmt: skip
    status, _ = await attacker.ask("serve", method, path, body)
    if status < 400:
        attacker.count("ADMITTED")


async def many_segments(attacker: Attacker) -> None:
    """A new segment with every list, each with a learner."""
    ranking = attacker.random.choice((FRONT, SEARCH, HOME, WIDE))
    _, shown = await attacker.ask("serve", "POST", LISTS.format(ranking), {"segment": f"made-up-{uuid.uuid4()}"})
    if shown and "impression" in shown:
        attacker.known.append(shown["impression"])


async def wide_estimates(attacker: Attacker) -> None:
    """Estimates of a learner with many features."""
    what = attacker.random.choice(("estimates", "explanation"))
    await attacker.ask("serve", "GET", f"/v1/rankings/{WIDE}/{what}")


async def reads(attacker: Attacker) -> None:
    """Everything that can be read, at random."""
    chance = attacker.random
    known = chance.choice(attacker.known) if attacker.known else uuid.uuid4()
    path = chance.choice(READS).format(
        ranking=chance.choice((FRONT, SEARCH, HOME, TARGET)), n=chance.randrange(200), known=known,
        unknown=uuid.uuid4(), segment=chance.randrange(SEGMENTS * 2),
    )  # fmt: skip
    await attacker.ask("serve", "GET", path)


async def reports(attacker: Attacker) -> None:
    """Reports twice, late, contradictory, impossible, and of nothing."""
    chance = attacker.random
    request_id = f"mine-{chance.randrange(500)}"
    asked = {"request_id": request_id, "segment": f"segment-{chance.randrange(3)}"}
    _, shown = await attacker.ask("serve", "POST", LISTS.format(FRONT), asked)
    impression = shown["impression"] if shown and "impression" in shown else str(uuid.uuid4())
    attacker.known.append(impression)
    for body in chance.choices((
        {"clicks": [1]}, {"clicks": [1], "final": True}, {"clicks": [2], "left": 1, "final": True}, {"clicks": [99]},
        {"clicks": [1] * 2000}, {"seen": {"1": 0.5, "2": 2.0}}, {"clicks": ["item-1"], "left": -1}, {},
    ), k=2):  # fmt: skip
        await attacker.ask("serve", "PUT", CLICKS.format(impression), body)
        await attacker.ask("serve", "PUT", CLICKS.format(attacker.known[0]), body)


async def stalled_bodies(attacker: Attacker) -> None:
    """A large body that stops before its end."""
    key = f"Authorization: Bearer {attacker.key('serve')}\r\nX-Filler: 1\r\n"
    size = attacker.random.choice((15_000_000, LIMIT - 1))
    head = message("POST", LISTS.format(FRONT), headers=f"{key}Content-Length: {size}\r\n")
    await attacker.hold(head.replace(b"Content-Length: 0\r\n", b"") + b" " * (size - 10))


async def open_streams(attacker: Attacker) -> None:
    """The live view of a ranking, which goes on for minutes, and of which nothing is read."""
    key = f"Authorization: Bearer {attacker.key('serve')}\r\n"
    await attacker.hold(message("GET", f"/v1/rankings/{FRONT}/live", headers=key), receive_buffer=4096, lasts=True)


async def large_lists(attacker: Attacker) -> None:
    """Lists among very many items, with very many exclusions and pins."""
    chance = attacker.random
    body: dict[str, Any] = chance.choice((
        {"among": [f"item-{n}" for n in range(MANY)]}, {"exclude": [f"item-{n}" for n in range(10, MANY)]},
        {"pins": {str(n): f"item-{n}" for n in range(1, 11)}}, {"positions": 2**53 - 1}, {"positions": 1},
        {"pins": {str(n): f"item-{n}" for n in range(1, 2000)}}, {"among": []}, {"segment": "s" * 200},
        {"among": [f"item-{n % 1000}" for n in range(7 * MANY)]}, {"exclude": [str(n) for n in range(10 * MANY)]},
    ))  # fmt: skip
    await attacker.ask("serve", "POST", LISTS.format(SEARCH), json.dumps(body).encode())


async def many_numbers(attacker: Attacker) -> None:
    """A body near the limit with numbers where ids and features stand, or with as many as a list may have."""
    await attacker.ask("serve", "POST", LISTS.format(SEARCH), attacker.random.choice(NUMBERS))


SERVE_KEY = [
    Attack("faulty lists", "serve", 50.0, 20, faulty_lists),
    Attack("many numbers", "serve", 100.0, 40, many_numbers),
    Attack("huge names", "serve", 50.0, 20, huge_names),
    Attack("huge features", "serve", 100.0, 20, huge_features),
    Attack("changes without right", "serve", 200.0, 50, changes_without_right),
    Attack("many segments", "serve", 100.0, 50, many_segments),
    Attack("wide estimates", "serve", 100.0, 50, wide_estimates),
    Attack("reads at random", "serve", 200.0, 50, reads),
    Attack("reports", "serve", 60.0, 50, reports),
    Attack("stalled bodies", "serve", 20.0, 60, stalled_bodies, is_timed=True),
    Attack("open streams", "serve", 100.0, 400, open_streams),
    Attack("large lists", "serve", 100.0, 40, large_lists),
]

"""What the processes of a soak agree on: the service with its rankings and keys, the phases, and the load."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.server import Server
from msgspec import Struct, json

from toplist.service.http.auth import hash_api_key, new_api_key

WINDOW = 20.0  # seconds; lists without a final report are closed by it
# The settings limits.seconds and limits.idle of the service: short, so that both end connections within a slice.
SECONDS, IDLE = 4.0, 5.0
ENDS = max(SECONDS, IDLE) + 3.0  # seconds until a connection that a timer ends is surely closed
SEGMENTS = 20
FRONT, SEARCH, HOME, WIDE, TARGET = "front", "search", "home", "wide", "target"
HONEST = "honest-"  # the request ids of honest lists begin with it
HOME_FEATURES, WIDE_FEATURES = 8, 400
HOME_ITEMS = 50
PROXY = "127.0.0.200"  # a trusted proxy, by which attackers come with made-up headers
ADDRESSES = tuple(f"127.0.0.{n}" for n in range(2, 7))  # of the attackers; honest callers are at 127.0.0.1
MORE_ADDRESSES = tuple(f"127.0.0.{n}" for n in range(10, 18))  # enough to hold all connections of the service


class Plan(Struct, frozen=True, kw_only=True):
    """The sizes and secrets of a soak, from which all of its processes work."""

    port: int = 0
    folder: str = ""
    page_key: str = ""  # of honest callers, with the scope serve
    editor_key: str = ""  # of the honest operator, with the scope admin
    stolen_serve_key: str = ""  # of attackers
    stolen_admin_key: str = ""
    begin: float = 0.0  # time.monotonic() of the first honest list
    warm_up: float  # seconds before anything is measured
    quiet: float  # seconds without attacks that follow, and are measured
    attacked: float  # seconds of attacks after these, with pauses
    lists_per_second: float = 300.0
    final: float = 0.7  # share of honest lists with a final report; the others are closed by their window
    connections: int = 128  # of honest callers: while the disk syncs, as many requests share the next commit
    scale: float = 1.0  # share of the attackers' connections and rates
    slice: float = 8.0  # seconds of each attack
    attacks: tuple[str, ...] = ()  # names of those to make; all by default
    pause: float = 20.0  # seconds without attacks after all of them, before they begin again

    @property
    def seconds(self) -> float:
        """Duration of the honest traffic."""
        return self.warm_up + self.quiet + self.attacked

    @property
    def attacks_begin(self) -> float:
        """When the attacks begin, by time.monotonic()."""
        return self.begin + self.warm_up + self.quiet

    @property
    def end(self) -> float:
        """When everything ends, by time.monotonic()."""
        return self.begin + self.seconds

    def write(self) -> Path:
        """Write it to its folder, which is private; returns the file."""
        file = Path(self.folder) / "plan.json"
        file.write_bytes(json.encode(self))
        return file

    @classmethod
    def read(cls, file: str) -> Plan:
        """Read it."""
        return json.decode(Path(file).read_bytes(), type=cls)


class Keys(Struct, frozen=True):
    """API keys of honest callers and of attackers."""

    page: str
    editor: str
    stolen_serve: str
    stolen_admin: str

    @classmethod
    def new(cls) -> Keys:
        """New keys."""
        return cls(*(new_api_key() for _ in range(4)))

    @property
    def setting(self) -> str:
        """The keys as a setting of the service."""
        scopes = {"page": "serve", "editor": "admin", "stolen_serve": "serve", "stolen_admin": "admin"}
        return ",".join(f"{name}:{scope}:{hash_api_key(getattr(self, name))}" for name, scope in scopes.items())


def fill(server: Server, seed: int = 8) -> None:
    """Create the rankings: three that honest visitors see, one with many features, and one for an admin key."""
    chance = random.Random(seed)

    def rows(items: int, width: int) -> list[list[float]]:
        return [[chance.uniform(-0.3, 0.3) for _ in range(width)] for _ in range(items)]

    server.create(FRONT, 100, 5, policy="dcm-kl-ucb", click_window=WINDOW)
    server.create(SEARCH, 1000, 10, policy="cascade-kl-ucb", click_window=WINDOW)
    server.create(HOME, HOME_ITEMS, 5, rows(HOME_ITEMS, HOME_FEATURES), policy="cascade-lin-ucb", click_window=WINDOW)
    server.create(WIDE, 20, 5, rows(20, WIDE_FEATURES), policy="cascade-lin-ucb", click_window=WINDOW)
    server.create(TARGET, 200, 5, policy="cascade-kl-ucb", click_window=WINDOW)
    for name in (FRONT, SEARCH, HOME, WIDE, TARGET):  # compiles their policies
        server.must("POST", f"/v1/rankings/{name}/lists", {})

"""`toplist serve` with one more route, which does nothing: the same process, settings and stack for both."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from msgspec import Struct

from toplist.cli.serve import add_set, settings_of
from toplist.service import run
from toplist.service.config import Settings
from toplist.service.http.app import App, make_app
from toplist.service.http.logs import Log
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import HttpRequest, Response, Route
from toplist.service.live.service import Service

PATH = "/v1/nothing"


class Nothing(Struct, frozen=True):
    """What is sent, and sent back."""

    key: str
    number: int = 0


async def nothing(_: object, request: HttpRequest) -> Response:
    """Say it again."""
    said: Nothing = request.body
    return said


NOTHING = Route(
    method="POST", path=PATH, name="nothing", tag="service", scope="serve", summary="Does nothing.", handler=nothing,
    request=Nothing, reply=Nothing, request_example={"key": "some"}, reply_example={"key": "some", "number": 0},
)  # fmt: skip


def with_nothing(service: Service, settings: Settings, log: Log | None = None) -> App:
    """The application with the route."""
    made = make_app(service, settings, log)
    return App(made.handlers, log or Log(settings.logs.requests), (*ROUTES, NOTHING))


def main() -> None:
    """Serve until a signal ends it."""
    parser = ArgumentParser(prog="python -m benchmarks.with_nothing")
    for flag in ("--config", "--store", "--host", "--port"):
        parser.add_argument(flag)
    add_set(parser)
    run.make_app = with_nothing  # type: ignore[attr-defined]  # which is imported there, to be called
    run.serve(settings_of(parser.parse_args(sys.argv[1:])))


if __name__ == "__main__":
    main()

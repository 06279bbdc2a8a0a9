"""`toplist serve` with an additional route that does nothing, as a baseline in the same process and stack."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from msgspec import Struct

from toplist.cli.serve import add_set, settings_of
from toplist.service import run, serving
from toplist.service.http.app import App, make_app
from toplist.service.http.logs import Log
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import HttpRequest, Response, Route
from toplist.service.live.service import Service
from toplist.service.settings import Settings

PATH = "/v1/nothing"


class Nothing(Struct, frozen=True):
    """Body of request and reply."""

    segment: str
    number: int = 0


async def nothing(_: object, request: HttpRequest) -> Response:
    """Send the body back."""
    said: Nothing = request.body
    return said


NOTHING = Route(
    method="POST", path=PATH, name="nothing", tag="service", scope="list", summary="Does nothing.", handler=nothing,
    request=Nothing, reply=Nothing, request_example={"segment": "some"}, reply_example={"segment": "some", "number": 0},
)  # fmt: skip


def with_nothing(service: Service, settings: Settings, log: Log | None = None) -> App:
    """The application with the route."""
    made = make_app(service, settings, log)
    return App(made.handlers, log or Log(settings.logs.requests), (*ROUTES, NOTHING))


def main() -> None:
    """Serve until a signal."""
    parser = ArgumentParser(prog="python -m benchmarks.with_nothing")
    for flag in ("--config", "--store", "--host", "--port"):
        parser.add_argument(flag)
    add_set(parser)
    serving.make_app = with_nothing  # type: ignore[attr-defined]  # called from there
    run.serve(settings_of(parser.parse_args(sys.argv[1:])))


if __name__ == "__main__":
    main()

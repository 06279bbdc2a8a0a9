"""The way of a server to its database, through a proxy of the test in a thread of its own."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from promises.proxy import Proxy

SOCKET = ".s.PGSQL.5432"
PATIENCE = 30.0  # seconds


@contextmanager
def proxied(folder: Path, target: Callable[[], Path]) -> Iterator[Callable[[str], None]]:
    """A proxy at a socket in a folder, to the server whose folder `target` says; gives what sets its mode."""
    proxy, is_open = Proxy(lambda: asyncio.open_unix_connection(str(target() / SOCKET))), Event()
    loops: list[asyncio.AbstractEventLoop] = []
    over = asyncio.Event()

    async def serve() -> None:
        await proxy.listen_unix(str(folder / SOCKET))
        loops.append(asyncio.get_running_loop())
        is_open.set()
        await over.wait()
        proxy.close()
        await asyncio.sleep(0.1)  # its connections end

    def set_mode(mode: str) -> None:
        async def change() -> None:
            proxy.mode = mode

        asyncio.run_coroutine_threadsafe(change(), loops[0]).result(PATIENCE)

    thread = Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert is_open.wait(PATIENCE)
    try:
        yield set_mode
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(PATIENCE)

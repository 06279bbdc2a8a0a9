"""Pages of the log for the event loop, which serves other requests between two of them."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from toplist.service.live.transaction import Transactions
from toplist.service.log.export import DividedPage, DivisionRows, EventPage, RowPage
from toplist.service.store.protocol import LogReader

Page_co = TypeVar("Page_co", bound=EventPage | DividedPage | RowPage | DivisionRows, covariant=True)


class ReadPages(Protocol[Page_co]):
    """Pages of the log, which take reads of the store."""

    after: Any  # a number, or one of each division

    def read_next(self, reader: LogReader) -> Page_co | None:
        """The next page; None after the last."""
        ...


class LogPages(Generic[Page_co]):
    """The log, in pages; other requests are served between two of them."""

    def __init__(self, transactions: Transactions, pages: ReadPages[Page_co]) -> None:
        self._transactions, self._pages = transactions, pages

    @property
    def after(self) -> Any:
        """The next page has later events than this one; it can be set."""
        return self._pages.after

    @after.setter
    def after(self, seq: Any) -> None:
        self._pages.after = seq

    def __aiter__(self) -> LogPages[Page_co]:
        return self

    async def __anext__(self) -> Page_co:
        page = await self._transactions.store.read(self._pages.read_next)
        if page is None:
            raise StopAsyncIteration
        return page

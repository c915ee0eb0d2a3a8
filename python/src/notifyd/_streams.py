"""Streams of events, current values, outcomes and actions."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from ._errors import Closed, Error, NotReachable, ReaderTooSlow
from ._manager import ConnectionManager, Subscriber
from ._merge import PAGE_SIZE, EventMerge, Request, ValueTable
from ._topics import TopicFilter, ancestor
from ._types import Announcement, Change, DaemonChanged, Event, RecordedEvent, Removal, Snapshot
from ._values import integer, positive

Element = TypeVar("Element")
News = TypeVar("News", bound=Announcement)

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0
# The shortest time between two short pages, because every request makes the daemon commit at once.
_PAGE_INTERVAL = 0.005


class Inbox(Generic[News]):
    """A bounded buffer between the connection, which writes, and one reader."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._elements: list[News] = []
        self._is_incomplete = False
        self._error: Error | None = None
        self._news = asyncio.Event()

    def put(self, element: News) -> None:
        """An element; if the buffer is full it is dropped, and the contents are incomplete."""
        if len(self._elements) < self._limit:
            self._elements.append(element)
        else:
            self._is_incomplete = True
        self._news.set()

    def mark_incomplete(self) -> None:
        """There is a new daemon or connection."""
        self._is_incomplete = True
        self._news.set()

    def end(self, error: Error) -> None:
        """Nothing will follow."""
        self._error = error
        self._news.set()

    def take(self) -> tuple[list[News], bool]:
        """Takes all elements, and whether there may have been more. Raises the error passed to ``end``."""
        if self._error is not None:
            raise self._error
        self._news.clear()
        elements, self._elements = self._elements, []
        is_incomplete, self._is_incomplete = self._is_incomplete, False
        return elements, is_incomplete

    async def wait(self, timeout: float | None = None) -> bool:
        """Waits until there is something to take; ``False`` if there was nothing in time."""
        try:
            async with asyncio.timeout(timeout):
                await self._news.wait()
        except TimeoutError:
            return False
        return True


class Stream(Generic[Element]):
    """An asynchronous iterator for one reader, open within an ``async with`` block.

    It goes on over restarts of the daemon and the bus: while there is none, it waits. It raises Closed when its
    client is closed.
    """

    def __init__(self, manager: ConnectionManager, subscriber: Subscriber) -> None:
        self._manager = manager
        self._subscriber = subscriber
        self._ready: deque[Element] = deque()
        self._is_open = False

    async def __aenter__(self) -> Self:
        await self._manager.subscribe(self._subscriber)
        self._is_open = True
        try:
            await self._begin()
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Element:
        if not self._is_open:
            raise RuntimeError("A stream is read within its “async with” block.")
        while not self._ready:
            self._ready.extend(await self._next())
        return self._ready.popleft()

    def _close(self) -> None:
        self._is_open = False
        self._manager.unsubscribe(self._subscriber)
        # Another task may be reading.
        self._subscriber.end(Closed("The stream was closed."))

    async def _begin(self) -> None:
        """Called when signals are received."""

    async def _next(self) -> list[Element]:
        """The next elements, or none yet."""
        raise NotImplementedError


class SignalStream(Stream[News]):
    """The daemon's signals of one kind, as they come. It raises ReaderTooSlow if too many wait."""

    def __init__(
        self, manager: ConnectionManager, member: str, kind: type[News], topics: list[TopicFilter], limit: int
    ) -> None:
        inbox = Inbox[News](integer(limit, range(1, 2**31), "The limit"))

        def receive(news: Announcement) -> None:
            if isinstance(news, kind) and not isinstance(news, DaemonChanged) and _covers(topics, news.topic):
                inbox.put(news)

        rules = [rule for topic in topics for rule in topic.rules(member)]
        super().__init__(manager, Subscriber(rules, receive, inbox.end))
        self._inbox = inbox
        self._limit = limit
        self._has_dropped = False

    async def _next(self) -> list[News]:
        if self._has_dropped:
            raise ReaderTooSlow(f"More than {self._limit} signals waited for the reader of this stream. Open it again.")
        await self._inbox.wait()
        # What was received is delivered first, so the reader knows where the gap is.
        elements, self._has_dropped = self._inbox.take()
        return elements


class CompleteStream(Stream[Element], Generic[Element, News]):
    """A stream that asks the daemon for what signals may not have told."""

    def __init__(self, manager: ConnectionManager, subscriber: Subscriber, inbox: Inbox[News], period: float) -> None:
        super().__init__(manager, subscriber)
        self._inbox = inbox
        self._period = positive(period, "The period")
        self._pause = _SHORTEST_PAUSE

    async def _next(self) -> list[Element]:
        self._receive(*self._inbox.take())
        if self._ready:
            return []
        try:
            if self._is_complete():
                if not await self._inbox.wait(self._period):
                    self._inbox.mark_incomplete()
                return []
            news = await self._ask()
            self._pause = _SHORTEST_PAUSE
            return news
        except Closed:
            raise
        except Error:
            # The daemon is not there, or cannot read its journal. When it comes, that is announced.
            await self._inbox.wait(self._pause)
            self._inbox.mark_incomplete()
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            return []

    def _receive(self, news: list[News], is_incomplete: bool) -> None:
        raise NotImplementedError

    def _is_complete(self) -> bool:
        raise NotImplementedError

    async def _ask(self) -> list[Element]:
        raise NotImplementedError


class EventStream(CompleteStream[Event, Event]):
    """Every event at or below some topics, once and in ascending order of the ids.

    It reads the daemon's journal page by page; signals tell it when there is news. So neither a restart of the daemon
    or of the bus, nor lost signals, nor a slow reader make a gap or a duplicate. An event takes one round trip more
    than its signal.
    """

    def __init__(
        self,
        manager: ConnectionManager,
        topics: list[TopicFilter],
        after: int | None,
        period: float,
        history: Callable[[str, int], Awaitable[list[RecordedEvent]]],
        snapshot: Callable[[str], Awaitable[Snapshot]],
    ) -> None:
        inbox = Inbox[Event](EventMerge.MEMORY)

        def receive(news: Announcement) -> None:
            if isinstance(news, DaemonChanged):
                inbox.mark_incomplete()
            elif isinstance(news, Event) and _covers(topics, news.topic):
                inbox.put(news)

        rules = [rule for topic in topics for rule in topic.rules("Event")]
        super().__init__(manager, Subscriber(rules, receive, inbox.end), inbox, period)
        self._topics = topics
        # One page for all topics: with one request for each, events between two requests could be missed.
        self._topic = ancestor(topics)
        self._merge = EventMerge(after)
        self._history = history
        self._snapshot = snapshot
        self._earliest_request = 0.0

    async def _begin(self) -> None:
        if self._merge.next_request is Request.CURSOR:
            try:
                await self._ask()
            except NotReachable:
                # The stream begins with the first event that the next daemon accepts.
                pass

    def _receive(self, news: list[Event], is_incomplete: bool) -> None:
        for event in news:
            self._merge.receive(event)
        if is_incomplete:
            self._merge.mark_incomplete()

    def _is_complete(self) -> bool:
        return self._merge.next_request is None

    async def _ask(self) -> list[Event]:
        loop = asyncio.get_running_loop()
        if self._merge.cursor is None:
            cursor = (await self._snapshot(self._topic)).cursor
            # New events up to the cursor were announced before the reply.
            self._receive(*self._inbox.take())
            self._merge.begin(cursor)
            return []
        if (pause := self._earliest_request - loop.time()) > 0:
            await asyncio.sleep(pause)
        page = await self._history(self._topic, self._merge.cursor)
        announced, is_incomplete = self._inbox.take()
        if len(page) < PAGE_SIZE:
            self._earliest_request = loop.time() + _PAGE_INTERVAL
        news = self._merge.take(page, announced)
        if is_incomplete:
            self._merge.mark_incomplete()
        return [event for event in news if _covers(self._topics, event.topic)]


class ChangeStream(CompleteStream[Change, Event | Removal]):
    """The current values at or below a topic, as ``added``, and then every change.

    After a restart of the daemon or the bus, and at regular intervals, it compares with a new snapshot. Of several
    missed changes it delivers only the last. While there is no daemon no value counts as removed.
    """

    def __init__(
        self,
        manager: ConnectionManager,
        topic: TopicFilter,
        period: float,
        snapshot: Callable[[str], Awaitable[Snapshot]],
    ) -> None:
        inbox = Inbox[Event | Removal](4096)

        def receive(news: Announcement) -> None:
            if isinstance(news, DaemonChanged):
                inbox.mark_incomplete()
            elif isinstance(news, Removal) or isinstance(news, Event) and news.retained:
                if topic.covers(news.topic):
                    inbox.put(news)

        rules = topic.rules("Event") + topic.rules("Removed")
        super().__init__(manager, Subscriber(rules, receive, inbox.end), inbox, period)
        self._topic = topic.topic
        self._table = ValueTable()
        self._is_stale = True
        self._snapshot = snapshot

    def _receive(self, news: list[Event | Removal], is_incomplete: bool) -> None:
        self._is_stale = self._is_stale or is_incomplete
        self._ready.extend(change for item in news if (change := self._table.receive(item)))

    def _is_complete(self) -> bool:
        return not self._is_stale

    async def _ask(self) -> list[Change]:
        snapshot = await self._snapshot(self._topic)
        self._is_stale = False
        return self._table.take(snapshot)


def _covers(topics: list[TopicFilter], topic: str) -> bool:
    return any(filter.covers(topic) for filter in topics)

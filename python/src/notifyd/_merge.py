"""What keeps streams complete. Nothing here waits or talks to the bus."""

from collections.abc import Sequence
from enum import Enum

from ._types import Change, Event, RecordedEvent, Removal, Snapshot

PAGE_SIZE = 1000
"""The most events that the daemon puts into one page."""


class Request(Enum):
    """What to ask the daemon next."""

    CURSOR = "the highest id so far"
    PAGE = "the page after the cursor"


class EventMerge:
    """Merges pages of the journal and signals into one complete stream of events.

    Only events in a page are in the stream: a page has no gaps, but a bus silently drops signals for a reader that
    stalls. A signal triggers the next page, and supplies what the journal does not keep, such as the time left to
    claim the event. So lost, late or repeated signals cause neither a gap nor a duplicate.
    """

    MEMORY = 1024
    """How many announced events are kept until their page arrives. Beyond that, events lack what only the signal
    says."""

    def __init__(self, after: int | None) -> None:
        """The stream begins after an event; ``None``: with the next new one."""
        self.cursor = after
        """The last event that is in the stream."""
        self._first_received: int | None = None
        self._received: dict[int, Event] = {}
        self._is_stale = True
        # Whether there may be events that were not announced: then only an empty page is the end.
        self._is_catching_up = True

    @property
    def next_request(self) -> Request | None:
        """``None`` while the stream is complete."""
        if not self._is_stale:
            return None
        return Request.CURSOR if self.cursor is None else Request.PAGE

    def receive(self, event: Event) -> None:
        """An event was announced."""
        if self.cursor is not None:
            if event.id <= self.cursor:
                return
        elif not event.replayed:
            self._first_received = min(event.id, self._first_received or event.id)
        self._is_stale = True
        if len(self._received) < self.MEMORY:
            self._received[event.id] = event

    def mark_incomplete(self) -> None:
        """Signals may have been missed: there is a new connection or daemon, or there were none for long."""
        self._is_stale = True
        self._is_catching_up = True

    def begin(self, highest: int) -> None:
        """The reply to ``CURSOR``. Events announced before it are new, even if their ids are not above it."""
        if self.cursor is None:
            self.cursor = highest if self._first_received is None else min(highest, self._first_received - 1)

    def take(self, page: list[RecordedEvent], announced: Sequence[Event] = ()) -> list[Event]:
        """The reply to ``PAGE``, in ascending order, and what was announced before it. Returns the next events."""
        for event in announced:
            self.receive(event)
        news = self._take(page)
        # Events that are not in this page need another one.
        for event in announced:
            self.receive(event)
        return news

    def _take(self, page: list[RecordedEvent]) -> list[Event]:
        assert self.cursor is not None
        start = self.cursor
        news = [self._received.get(entry.event.id, entry.event) for entry in page if entry.event.id > start]
        if not news:
            self._is_stale = self._is_catching_up = False
            # What was announced and is in no page was deleted meanwhile.
            self._received.clear()
            return []
        self.cursor = end = news[-1].id
        self._received = {id: event for id, event in self._received.items() if id > end}
        # A page of large events is short, and may not be the last.
        self._is_stale = self._is_catching_up or len(page) >= PAGE_SIZE or bool(self._received)
        return news


class ValueTable:
    """The current values of topics for one watcher, from snapshots and the signals between them.

    A snapshot is authoritative up to its cursor, and a signal counts only above that. So signals may arrive before or
    after a snapshot, twice or never: the next snapshot corrects the difference.
    """

    def __init__(self) -> None:
        self._values: dict[str, Event] = {}
        self._cursor = 0

    def receive(self, news: Event | Removal) -> Change | None:
        """An event or a removal was announced."""
        known = self._values.get(news.topic)
        if news.id <= self._cursor or known is not None and known.id >= news.id:
            return None
        if isinstance(news, Removal):
            return Change("removed", self._values.pop(news.topic)) if known is not None else None
        if not news.retained:
            return None
        self._values[news.topic] = news
        return Change("added" if known is None else "modified", news)

    def take(self, snapshot: Snapshot) -> list[Change]:
        """Applies a snapshot. Returns the removed values, then the new ones, each by ascending id."""
        self._cursor = snapshot.cursor
        former, self._values = self._values, {}
        news = []
        for event in snapshot.values:
            known = former.pop(event.topic, None)
            self._values[event.topic] = known if known is not None and known.id == event.id else event
            if known is None or known.id != event.id:
                news.append(Change("added" if known is None else "modified", event))
        removed = [Change("removed", event) for event in former.values()]
        return sorted(removed, key=lambda change: change.value.id) + sorted(news, key=lambda change: change.value.id)

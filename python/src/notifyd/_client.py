"""The client."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, get_args

from ._claim import ProvisionalClaim
from ._connection import session_bus_address
from ._errors import UnexpectedReply
from ._manager import ConnectionManager
from ._merge import PAGE_SIZE
from ._screen import PATH, Screen, screen_options
from ._streams import ChangeStream, EventStream, SignalStream
from ._topics import ROUTER, TopicFilter, filters
from ._types import (
    RECORDS,
    Action,
    Attention,
    JournalChange,
    Mode,
    Outcome,
    Quiet,
    RecordedEvent,
    Snapshot,
    State,
    Urgency,
    recorded,
)
from ._values import UINT64, Value, choice, encoded, flag, integer, mapping, microseconds, positive, text, whole

_Kind = TypeVar("_Kind")
_PROPERTIES = "org.freedesktop.DBus.Properties"
_Done = Literal["claimed", "dismissed", "withdrawn", "read"]


class Client:
    """A client of notifyd: it publishes, receives and claims events, and holds screens.

    Open it with ``async with``. It is one connection to the session bus, for any number of tasks of one event loop.
    Streams, screens and provisional claims continue after a restart of the bus or the daemon.

    Every method can raise ``NotReachable``, ``TimedOut``, ``Closed``, or ``Refused`` with one of its subclasses.
    ``ValueError`` and ``TypeError`` mean that an argument cannot be sent. If a task that calls is cancelled, the call
    may have taken effect.
    """

    def __init__(self, address: str | None = None, *, timeout: float = 25) -> None:
        """``address``: a D-Bus address; by default the one of the user's session bus.

        ``timeout``: the time limit of a call, in seconds.
        """
        self._address = None if address is None else text(address)
        self._timeout = positive(timeout, "The time limit")
        self._connections: ConnectionManager | None = None

    async def __aenter__(self) -> Self:
        """Connects to the bus. The daemon need not be running yet."""
        self._connections = ConnectionManager(self._address or session_bus_address(), self._timeout)
        try:
            await self._connections.connection()
        except BaseException:
            await self._connections.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._manager.close()

    # Publishing

    async def send(self, topic: str, title: str = "", body: str = "", *, urgency: Urgency | None = None) -> int:
        """Publishes an event with a title and a body, and returns its id. The event is then on disk.

        ``topic``: where the event belongs, such as ``/post/27``. ``title``: at most 1 KiB; if it is empty, the route
        of the topic supplies one. ``body``: at most 8 KiB. ``urgency``: that of the banner; None: as the route has it.
        """
        if urgency is not None:
            return await self.publish(topic, title, body, urgency=urgency)
        (id,) = await self._call("Send", "sss", (text(topic), text(title), text(body)), returns="t")
        return int(id)

    async def publish(
        self,
        topic: str,
        title: str = "",
        body: str = "",
        fields: Mapping[str, Value] | None = None,
        *,
        source: str | None = None,
        event_id: str | None = None,
        retain: bool | None = None,
        remove: bool | None = None,
        if_newer: bool | None = None,
        ttl: float | None = None,
        urgency: Urgency | None = None,
        banner: bool | None = None,
        own_banner: bool | None = None,
        window: float | None = None,
        published: float | None = None,
        via: str | None = None,
    ) -> int:
        """Publishes an event with fields and options, and returns its id. Where an option is None, the route decides.

        ``fields``: delivered to every subscriber unchanged; at most 64, at most 4 levels deep.
        ``source``, ``event_id``: the publisher's name for the source of the event, and its id there. The pair
        identifies duplicates: as long as the event is in the journal, a duplicate gets its id, and nothing is published
        again.
        ``retain``: the event is the current value of its topic.
        ``remove``: removes the current value of the topic, and publishes no event.
        ``if_newer``: with ``retain`` or ``remove``: it has no effect on the value if the topic has a newer one, or was
        removed later.
        ``ttl``: how long the event is worth showing, in seconds, at most 2,419,200 (28 days). 0: it gets no banner,
        and is expired at once.
        ``urgency``: the urgency of the banner.
        ``banner``: False: the event never gets a banner.
        ``own_banner``: True: this program shows the banner itself, and notifyd only decides. The outcome “shown” says
        that the banner is to be up, any other one that it is to be taken down.
        ``window``: the time to claim the event, in seconds, 0 to 60.
        ``published``: when it happened, in seconds since 1970-01-01 00:00 UTC; now by default.
        ``via``: the line by which a bridge brought the event, such as ``mqtt``; at most 64 bytes.
        """
        options: dict[str, tuple[str, Any]] = {}
        for key, option in {"source": source, "event-id": event_id, "via": via}.items():
            if option is not None:
                options[key] = ("s", text(option))
        for key, is_on in {
            "retain": retain,
            "remove": remove,
            "if-newer": if_newer,
            "banner": banner,
            "own-banner": own_banner,
        }.items():
            if is_on is not None:
                options[key] = ("b", flag(is_on, f"“{key}”"))
        if ttl is not None:
            options["ttl"] = ("u", whole(ttl, 1, "A time to live is 0 seconds to 28 days long."))
        if window is not None:
            options["window"] = ("u", whole(window, 1000, "A window is 0 to 60 seconds long."))
        if urgency is not None:
            levels = get_args(Urgency)
            options["urgency"] = ("y", levels.index(choice(urgency, levels, "An urgency")))
        if published is not None:
            options["published"] = ("x", microseconds(published, "The time of publication"))
        values = {text(name): encoded(value) for name, value in mapping(fields or {}, "“fields”").items()}
        arguments = (text(topic), text(title), text(body), values, options)
        (id,) = await self._call("Publish", "sssa{sv}a{sv}", arguments, returns="t")
        return int(id)

    # Listening

    def events(self, *topics: str, after: int | None = None, period: float = 30) -> EventStream:
        """Every event at or below some topics from now on, or after a known one: complete, in order, and each once::

            async with client.events("/run", after=last_saved_id) as events:
                async for event in events: ...

        ``topics``: ``/`` stands for every topic.
        ``after``: the id of the last event that is already known; 0 begins with the oldest event in the journal; None
        with the next event that is published.
        ``period``: how often to ask the daemon without a signal, in seconds. It matters only if the bus has dropped
        the last signals.
        """
        return EventStream(self._manager, filters(topics), _optional_id(after), period, self._page, self._values)

    def changes(self, topic: str, *, period: float = 30) -> ChangeStream:
        """The current values at or below a topic, and then every change: added, modified, removed.

        ``topic``: ``/`` stands for every topic. ``period``: how often to compare with a snapshot, in seconds. It
        matters only if the bus has dropped signals.
        """
        return ChangeStream(self._manager, TopicFilter(topic), period, self._values)

    def outcomes(self, *topics: str, limit: int = 4096) -> SignalStream[Outcome]:
        """What becomes of the events at or below some topics, as it is announced; restarts make gaps.

        ``limit``: how many may wait for the reader before the stream ends with ReaderTooSlow.
        """
        return SignalStream(self._manager, "Resolved", Outcome, filters(topics), limit)

    def actions(self, *topics: str, limit: int = 4096) -> SignalStream[Action]:
        """The buttons that are pressed on banners of events at or below some topics; restarts make gaps.

        ``limit``: how many may wait for the reader before the stream ends with ReaderTooSlow.
        """
        return SignalStream(self._manager, "ActionInvoked", Action, filters(topics), limit)

    def attention(self, *topics: str, limit: int = 4096) -> SignalStream[Attention]:
        """Which topics at or below some topics come on screen or leave it; after a start of the daemon none is.

        ``limit``: how many may wait for the reader before the stream ends with ReaderTooSlow.
        """
        return SignalStream(self._manager, "ScreensChanged", Attention, filters(topics), limit)

    # Claiming

    async def claim(self, id: int) -> str:
        """Claims an event: it gets no banner, and a banner that is already shown is closed.

        Returns ``suppressed`` (in time), ``retracted`` (the banner had been shown, and is closed) or ``recorded``
        (there was nothing to suppress, or other events keep the banner open). More may be added.
        """
        (verdict,) = await self._call("Claim", "t", (_id(id),), returns="s")
        return str(verdict)

    async def claim_named(
        self,
        source: str,
        event_id: str,
        *,
        done: _Done = "claimed",
        device: str | None = None,
        via: str | None = None,
        expires: float | None = None,
    ) -> str:
        """Claims an event by its global name, on behalf of somebody elsewhere: for bridges between devices.

        Returns what ``claim`` returns, or ``awaited``: the event has not come yet, and is claimed when it comes.

        ``source``, ``event_id``: those of the event; without both, ``notifyd:`` with the property ``Device``, and the
        id in decimal. ``done``: what was done with the event there. ``device``: where, for people; at most 64
        bytes. ``via``: the line by which a bridge brought the claim. ``expires``: until when the event is awaited, in
        seconds since 1970-01-01 00:00 UTC; it is awaited for at least 24 hours and at most 28 days.
        """
        options: dict[str, tuple[str, Any]] = {}
        for key, words in {"device": device, "via": via}.items():
            if words is not None:
                options[key] = ("s", text(words))
        if choice(done, get_args(_Done), "What was done") != "claimed":
            options[done] = ("b", True)
        if expires is not None:
            options["expires"] = ("x", microseconds(expires, "The end of the wait"))
        arguments = (text(source), text(event_id), options)
        (verdict,) = await self._call("ClaimNamed", "ssa{sv}", arguments, returns="s")
        return str(verdict)

    def claim_provisionally(self, id: int, *, within: float = 30) -> ProvisionalClaim:
        """Claims an event for as long as a block runs::

            async with client.claim_provisionally(event.id, within=10) as is_held:
                if is_held:
                    await show(event)

        The event is claimed when the block ends, and released when it raises: then the banner is shown after all. It
        is also shown when the time is over, or when this program dies. ``is_held`` is False if there is nothing to
        hold: the event has been shown, claimed or held, or never gets a banner.

        If the daemon is restarted meanwhile, the event is held again, or claimed at the end of the block.

        ``within``: how long the block may take, in seconds, 0.001 to 600. If it takes longer, its end raises
        NotClaimant.
        """
        _hold_time(within)
        return ProvisionalClaim(self._manager, _id(id), within, self._hold, self._call_about)

    async def pass_event(self, id: int) -> None:
        """Declines an event for all screens of this client that ask."""
        await self._call("Pass", "t", (_id(id),))

    async def press(self, id: int, action: str) -> None:
        """Presses a button of an unread event, for programs that show events themselves. It is announced by
        ``ActionInvoked``, and its command runs. Then the event is claimed, unless it is resident.

        ``action``: the key of the button. Raises InvalidEvent if the event has no such button, and NotClaimant if it
        was claimed or read before.
        """
        await self._call("Press", "ts", (_id(id), text(action)))

    async def snooze(self, id: int, seconds: int) -> None:
        """Lets the banner of an unread event that was shown or muted come back later, unless it is claimed before.

        ``seconds``: 60 to 604,800 (7 days). Raises InvalidEvent for an event that was neither shown nor muted.
        """
        await self._call("Snooze", "tu", (_id(id), whole(seconds, 1, "A snooze is 60 seconds to 7 days long.")))

    async def claim_topic(self, topic: str, grace: float = 0) -> int:
        """Claims every undecided or shown event at or below a topic, and goes on claiming new events there for a
        while. Call it when the user opens something. Returns how many events were claimed at once.

        ``grace``: how long to go on, in seconds, at most 10; even after this client has left the bus.
        """
        milliseconds = whole(grace, 1000, "A grace is 0 to 10 seconds long.")
        (count,) = await self._call("ClaimTopic", "su", (text(topic), milliseconds), returns="u")
        return int(count)

    def screen(
        self,
        topic: str,
        *,
        mode: Mode = "auto",
        state: State = "focused",
        lease: float | None = None,
        clear: bool = True,
    ) -> Screen:
        """A standing claim on a topic, for as long as a block runs::

            async with client.screen("/post/27"): ...

        ``mode``: who decides about an event. With ``ask``, open ``events`` first, and answer each event with
        ``claim`` or
        ``pass_event`` within its window.
        ``state``: how well the user sees it.
        ``lease``: how long the screen stays open after this program hangs or is stopped, in seconds; the client
        renews it long before. None: as long as the connection to the bus.
        ``clear``: whether opening claims undecided events and closes shown banners.

        Opening raises LimitExceeded with more than 256 screens of a client, and AccessDenied when the daemon's policy
        does not let this program claim there.
        """
        return Screen(self._manager, topic, screen_options(mode, state, lease, clear))

    # Reading

    async def unread(self, topic: str = "/") -> int:
        """The number of unread events at or below a topic: those that are undecided, shown, muted or expired."""
        (count,) = await self._call("Unread", "s", (text(topic),), returns="u")
        return int(count)

    async def mark_read(self, topic: str = "/", *, up_to: int = 0, timeout: float = 600) -> int:
        """Marks all events at or below a topic as read. Undecided and shown events are claimed. Returns how many were
        unread.

        ``up_to``: events with higher ids are not changed; 0 means all events. ``timeout``: in seconds; the daemon
        takes about a minute for a million events.
        """
        positive(timeout, "The time limit")
        (count,) = await self._call("MarkRead", "st", (text(topic), _id(up_to)), returns="u", timeout=timeout)
        return int(count)

    async def history(self, topic: str = "/", *, after: int = 0, limit: int = PAGE_SIZE) -> list[RecordedEvent]:
        """Events at or below a topic with an id above ``after``, in ascending order: one page of them.

        The next page begins after the last id of this one; an empty page is the end. ``limit``: 1 to 1000. A page
        may be shorter and still not be the last.
        """
        return await self._history(text(topic), _id(after), _limit(limit), auto_start=True)

    async def snapshot(self, topic: str = "/") -> Snapshot:
        """The current values at or below a topic: the last event of each topic that was published with ``retain``."""
        return await self._values(text(topic), auto_start=True)

    async def journal_changes(self, after: int = 0, limit: int = 1000) -> tuple[int, list[JournalChange]]:
        """Everything in the order in which it was committed: events, outcomes, read marks, removals and starts.

        Returns the number from which on nothing was deleted because of its age, and a page of changes. An empty page
        is the end.

        ``after``: the number of the last change that is already known; 0 begins with the oldest. ``limit``: 1 to
        1000.
        """
        arguments = (integer(after, UINT64, "The number of a change"), _limit(limit))
        oldest, rows = await self._call("Changes", "tu", arguments, returns="ta(tssta{sv})")
        return int(oldest), [JournalChange(*row) for row in rows]

    async def explain(self, id: int) -> dict[str, Any]:
        """The whole decision about an event: see ``Explain`` in org.notifyd.Router1(5). Raises UnknownEvent."""
        (decision,) = await self._call("Explain", "t", (_id(id),), returns="a{sv}")
        return dict(decision)

    # Being left alone. Subscribers hear every event as before. A change survives a restart of the daemon.

    async def mute(self, topic: str, seconds: float) -> None:
        """Stops banners at or below a topic for a while. Events that arrive meanwhile get the outcome ``muted`` and
        are not shown later. Banners that are already shown stay.

        ``topic``: ``/`` stands for every topic. ``seconds``: 0 ends the mute of exactly this topic, and a schedule of
        it until it begins again. Others may still cover it: see ``quiet``.
        """
        seconds = whole(seconds, 1, "A topic is muted for 0 seconds to 136 years.")
        await self._call("Mute", "su", (text(topic), seconds))

    async def pause(self, seconds: float = 0) -> None:
        """Stops all banners for a while; 0: until ``set_paused`` ends it."""
        await self._call("Pause", "u", (whole(seconds, 1, "A pause is 0 seconds to 136 years long."),))

    async def quiet(self) -> list[Quiet]:
        """The pause, the mutes and the schedules that are in force. This does not start the daemon."""
        entries = await self._property("Quiet", list)
        return [Quiet(topic, until / 1e6 if until else None, cause) for topic, until, cause, *_ in entries]

    async def paused(self) -> bool:
        """Whether all banners are paused. This does not start the daemon."""
        return await self._property("Paused", bool)

    async def set_paused(self, is_paused: bool) -> None:
        """Pauses all banners, or ends the pause. Events that arrive during a pause are not shown later."""
        value = ("b", flag(is_paused, "“is_paused”"))
        await self._call("Set", "ssv", (ROUTER, "Paused", value), interface=_PROPERTIES)

    # Calls

    @property
    def _manager(self) -> ConnectionManager:
        if self._connections is None:
            raise RuntimeError("A client is used within its “async with” block.")
        return self._connections

    async def _call(
        self,
        member: str,
        signature: str,
        arguments: tuple[Any, ...],
        *,
        interface: str = ROUTER,
        returns: str = "",
        auto_start: bool = True,
        timeout: float | None = None,
    ) -> tuple[Any, ...]:
        connection = await self._manager.connection()
        return await connection.call(
            member,
            signature,
            arguments,
            of=interface,
            at=PATH,
            on=ROUTER,
            returns=returns,
            auto_start=auto_start,
            timeout=self._timeout if timeout is None else timeout,
        )

    async def _property(self, name: str, kind: type[_Kind]) -> _Kind:
        (value,) = await self._call(
            "Get", "ss", (ROUTER, name), interface=_PROPERTIES, returns="v", auto_start=False
        )
        if not isinstance(value, kind):
            raise UnexpectedReply(f"The property {name} does not have the form of org.notifyd.Router1.")
        return value

    async def _call_about(self, member: str, id: int) -> None:
        await self._call(member, "t", (id,), returns="s" if member == "Claim" else "")

    async def _hold(self, id: int, seconds: float) -> str:
        (verdict,) = await self._call("ClaimProvisionally", "tu", (id, _hold_time(seconds)), returns="s")
        return str(verdict)

    async def _history(self, topic: str, after: int, limit: int, *, auto_start: bool) -> list[RecordedEvent]:
        (events,) = await self._call("History", "stu", (topic, after, limit), returns=RECORDS, auto_start=auto_start)
        return [recorded(entry) for entry in events]

    # Streams do not start a daemon: they wait for one.

    async def _page(self, topic: str, after: int) -> list[RecordedEvent]:
        return await self._history(topic, after, PAGE_SIZE, auto_start=False)

    async def _values(self, topic: str, *, auto_start: bool = False) -> Snapshot:
        cursor, events = await self._call("Snapshot", "s", (topic,), returns="t" + RECORDS, auto_start=auto_start)
        return Snapshot(cursor, [recorded(entry, retained=True).event for entry in events])


def _id(id: int) -> int:
    return integer(id, UINT64, "The id of an event")


def _limit(limit: int) -> int:
    return integer(limit, range(1, PAGE_SIZE + 1), "The limit of a page")


def _hold_time(seconds: float) -> int:
    complaint = "The time to confirm a claim is 1 ms to 10 minutes long."
    milliseconds = whole(seconds, 1000, complaint)
    if milliseconds == 0:
        raise ValueError(complaint)
    return milliseconds


def _optional_id(id: int | None) -> int | None:
    return None if id is None else _id(id)

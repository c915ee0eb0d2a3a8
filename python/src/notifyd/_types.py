"""What a client receives."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Mode: TypeAlias = Literal["auto", "ask"]
"""Who decides about an event: ``auto``: the daemon claims it on arrival; ``ask``: the program claims or passes."""

State: TypeAlias = Literal["focused", "visible", "hidden"]
"""How well the user sees a screen. A hidden screen claims nothing."""

Urgency: TypeAlias = Literal["low", "normal", "critical"]
"""The levels of the Desktop Notifications Specification."""

_URGENCIES: dict[Any, Urgency] = {0: "low", 1: "normal", 2: "critical"}


@dataclass(frozen=True)
class Event:
    """An event, as every subscriber receives it."""

    id: int
    """Ids grow strictly and are never reused."""
    topic: str
    """Where the event belongs, such as ``/post/27``."""
    title: str = ""
    """Empty if the route of the topic supplies the title of the banner."""
    body: str = ""
    """Often empty."""
    fields: dict[str, Any] = field(default_factory=dict)
    """What the publisher added."""
    published: float | None = None
    """When it was published, in seconds since 1970-01-01 00:00 UTC."""
    window: float | None = None
    """The time left to claim the event before its banner, in seconds; 0 if no banner is pending. ``None`` if the event
    was not announced while the stream was up to date."""
    sender: str | None = None
    """The unique name of the publisher on the bus; ``None`` as for ``window``."""
    source: str | None = None
    """The publisher's name for the source of the event; ``None`` as for ``window``."""
    event_id: str | None = None
    """The publisher's own id within ``source``; ``None`` as for ``window``."""
    via: str | None = None
    """The line by which a bridge brought it, such as ``mqtt``; ``None`` as for ``window``."""
    expires: float | None = None
    """When its time to live ends, in seconds since 1970-01-01 00:00 UTC; ``None`` as for ``window``."""
    urgency: Urgency | None = None
    """The urgency of its banner, where the publisher or the route sets one; ``None`` as for ``window``."""
    silent: str | None = None
    """Who decided that it gets no banner, ``route`` or ``publisher``; ``None`` for others and as for ``window``."""
    claimed: bool = False
    """Whether it was claimed as it came in, by a screen or by the grace of a topic claim."""
    replayed: bool = False
    """Whether the event is announced again after a restart of the daemon."""
    retained: bool = False
    """Whether the event is now the current value of its topic."""


@dataclass(frozen=True)
class RecordedEvent:
    """An event in the journal."""

    event: Event
    """What was published."""
    outcome: str | None = None
    """As in ``Outcome``; ``None`` while the event is undecided."""


@dataclass(frozen=True)
class Snapshot:
    """The current values at or below a topic at one point in time."""

    cursor: int
    """The highest id at that time. Events with higher ids are newer than the snapshot."""
    values: list[Event]
    """One event for each topic that has a value, in ascending order of their ids."""


@dataclass(frozen=True)
class Change:
    """What happened to the current value of a topic."""

    kind: Literal["added", "modified", "removed"]
    """``added``: no value was known before."""
    value: Event
    """The value; for ``removed``, the last known one."""


@dataclass(frozen=True)
class Outcome:
    """What became of an event. A silent event has none: its ``window`` is 0."""

    id: int
    """The id of the event."""
    topic: str
    """The topic of the event."""
    outcome: str
    """``claimed``, ``shown``, ``retracted``, ``dismissed``, ``muted`` or ``expired``. More may be added."""
    details: dict[str, Any] = field(default_factory=dict)
    """Who claimed it, how late the banner was and so on: see ``Resolved`` in org.notifyd.Router1(5)."""


@dataclass(frozen=True)
class Action:
    """A button on a banner was pressed."""

    id: int
    """The id of the newest event of the banner."""
    topic: str
    """The topic of that event."""
    action: str
    """The key of the button."""


@dataclass(frozen=True)
class JournalChange:
    """A row of what the daemon has committed."""

    number: int
    """Grows strictly, also over restarts."""
    kind: str
    """``event``, ``outcome``, ``read``, ``removed`` or ``start``; others may be added."""
    topic: str
    """The topic of the event or the value; empty for a start."""
    id: int
    """The event, or the removal itself; 0 for a start."""
    details: dict[str, Any]
    """What the row says, by the keys of org.notifyd.Router1(5)."""


@dataclass(frozen=True)
class Quiet:
    """A pause of all banners, the desktop's own “do not disturb”, or a mute or a schedule of a topic."""

    topic: str
    """No banners appear at or below this topic; ``/`` stands for every topic."""
    until: float | None
    """When it ends by itself, in seconds since 1970-01-01 00:00 UTC; ``None`` if it lasts until it is ended."""
    cause: str
    """``paused``, ``muted``, ``schedule`` or ``desktop``. More may be added."""


@dataclass(frozen=True)
class Removal:
    """A current value was removed, or has expired."""

    id: int
    """The id of the removal itself, above that of the value."""
    topic: str
    """The topic of the value."""


@dataclass(frozen=True)
class Attention:
    """A topic came on screen, or left it."""

    topic: str
    """The topic, exactly."""
    attended: bool
    """Whether a screen that suppresses banners, in a session that is neither locked nor idle, stands at this topic."""


@dataclass(frozen=True)
class DaemonChanged:
    """The daemon appeared on the bus, or left it."""

    owner: str | None
    """Its unique name; ``None`` when it left."""


Announcement: TypeAlias = Event | Outcome | Action | Removal | Attention | DaemonChanged


def announcement(member: str, signature: str, arguments: tuple[Any, ...]) -> Announcement | None:
    """A signal of the daemon; ``None`` if it is unknown."""
    match member:
        case "Event" if signature.startswith("stssa{sv}a{sv}"):
            topic, id, title, body, fields, info = arguments[:6]
            published, window, expires = info.get("published"), info.get("window"), info.get("expires")
            return Event(
                id=id,
                topic=topic,
                title=title,
                body=body,
                fields=fields,
                published=published / 1e6 if isinstance(published, int) else None,
                window=window / 1000 if isinstance(window, int) else None,
                sender=info.get("sender"),
                source=info.get("source"),
                event_id=info.get("event-id"),
                via=info.get("via"),
                expires=expires / 1e6 if isinstance(expires, int) else None,
                urgency=_URGENCIES.get(info.get("urgency")),
                silent=info.get("silent"),
                claimed=info.get("claimed") is True,
                replayed=info.get("replayed") is True,
                retained=info.get("retained") is True,
            )
        case "Resolved" if signature.startswith("stsa{sv}"):
            topic, id, outcome, details = arguments[:4]
            return Outcome(id=id, topic=topic, outcome=outcome, details=details)
        case "ActionInvoked" if signature.startswith("sts"):
            topic, id, action = arguments[:3]
            return Action(id=id, topic=topic, action=action)
        case "Removed" if signature.startswith("st"):
            topic, id = arguments[:2]
            return Removal(id=id, topic=topic)
        case "ScreensChanged" if signature.startswith("sb"):
            topic, attended = arguments[:2]
            return Attention(topic=topic, attended=attended)
    return None


RECORDS = "a(tsssxsa{sv})"
"""The signature of a list of events."""


def recorded(entry: tuple[Any, ...], *, retained: bool = False) -> RecordedEvent:
    """An entry in a list of events."""
    id, topic, title, body, published, outcome, fields = entry
    event = Event(
        id=id, topic=topic, title=title, body=body, fields=fields, published=published / 1e6, retained=retained
    )
    return RecordedEvent(event, outcome or None)

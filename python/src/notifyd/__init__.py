"""A client of notifyd, the push notification router: publish, listen, claim and hold screens over D-Bus, with asyncio.

Start with :class:`Client`. The interface behind it is ``org.notifyd.Router1``, described in org.notifyd.Router1(5).
Times are in seconds.
"""

from ._claim import ProvisionalClaim
from ._client import Client
from ._connection import session_bus_address
from ._errors import (
    AccessDenied,
    Closed,
    Error,
    InvalidEvent,
    InvalidTopic,
    LimitExceeded,
    NotClaimant,
    NotReachable,
    ReaderTooSlow,
    Refused,
    StorageUnavailable,
    TimedOut,
    TooLarge,
    UnexpectedReply,
    UnknownEvent,
    UnknownScreen,
)
from ._screen import Screen
from ._streams import ChangeStream, EventStream, SignalStream
from ._types import (
    Action,
    Attention,
    Change,
    Event,
    JournalChange,
    Mode,
    Outcome,
    Quiet,
    RecordedEvent,
    Snapshot,
    State,
    Urgency,
)
from ._values import Value, Variant

__all__ = [
    "AccessDenied",
    "Action",
    "Attention",
    "Change",
    "ChangeStream",
    "Client",
    "Closed",
    "Error",
    "Event",
    "EventStream",
    "InvalidEvent",
    "InvalidTopic",
    "LimitExceeded",
    "JournalChange",
    "Mode",
    "NotClaimant",
    "NotReachable",
    "Outcome",
    "ProvisionalClaim",
    "Quiet",
    "ReaderTooSlow",
    "RecordedEvent",
    "Refused",
    "Screen",
    "SignalStream",
    "Snapshot",
    "State",
    "StorageUnavailable",
    "TimedOut",
    "TooLarge",
    "UnexpectedReply",
    "UnknownEvent",
    "UnknownScreen",
    "Urgency",
    "Value",
    "Variant",
    "session_bus_address",
]

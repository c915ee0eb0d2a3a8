"""The exceptions of this package."""

from typing import ClassVar

PREFIX = "org.notifyd.Router1.Error."


class Error(Exception):
    """Why a call failed, as a sentence. It holds neither the title nor the body of an event."""


class NotReachable(Error):
    """There is no bus, or no notifyd on it. Trying again later may help."""


class TimedOut(Error, TimeoutError):
    """No reply arrived in time. The call may have taken effect."""


class Closed(Error):
    """The client or the screen was closed."""


class ReaderTooSlow(Error):
    """Signals were dropped, because the reader of the stream did not take them in time."""


class UnexpectedReply(Error):
    """A reply does not have the form of org.notifyd.Router1. Perhaps another program uses the name."""


class Refused(Error):
    """The daemon, or the bus, answered with an error. The text is the one of the answer.

    The errors of the contract are subclasses; org.notifyd.Router1(5) describes them.
    """

    names: ClassVar[dict[str, type["Refused"]]] = {}

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
        """The name of the D-Bus error, such as ``org.notifyd.Router1.Error.InvalidTopic``."""

    def __init_subclass__(cls) -> None:
        Refused.names[PREFIX + cls.__name__] = cls


class InvalidTopic(Refused, ValueError):
    """The text is not a topic."""


class InvalidEvent(Refused, ValueError):
    """A field or an option is missing, unknown or of a wrong type."""


class UnknownEvent(Refused, LookupError):
    """There is no such event, or it was deleted."""


class UnknownScreen(Refused, LookupError):
    """There is no such screen, or it was closed."""


class NotClaimant(Refused):
    """This client does not hold the event, or holds it no longer."""


class TooLarge(Refused, ValueError):
    """The title has more than 1 KiB, the body more than 8 KiB, or the whole event more than 64 KiB."""


class LimitExceeded(Refused):
    """A limit is reached; the text names it."""


class StorageUnavailable(Refused):
    """The journal of the daemon cannot be written, or cannot be read."""


class AccessDenied(Refused):
    """A rule of the daemon's configuration denies the call, or the screen belongs to another connection."""


# What the bus answers if there is no daemon, or if it cannot start.
_ABSENT = {
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.Disconnected",
    # The configuration of the daemon is wrong; the text lists the mistakes.
    "org.freedesktop.DBus.Error.InvalidFileContent",
}

# With these begin the names of errors of the bus and of the service manager that cannot start it.
_NOT_STARTED = ("org.freedesktop.DBus.Error.Spawn.", "org.freedesktop.systemd1.")


def from_reply(name: str, text: str, *, from_bus: bool) -> Error:
    """The exception for a D-Bus error."""
    if from_bus and name == "org.freedesktop.DBus.Error.NoReply":
        return NotReachable("notifyd left the bus before it answered.")
    if name in _ABSENT or name.startswith(_NOT_STARTED):
        return NotReachable(text)
    return Refused.names.get(name, Refused)(name, text)

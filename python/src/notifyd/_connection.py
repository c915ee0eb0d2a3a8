"""One connection to a message bus, from ``open`` until it is closed or lost. A lost connection is never used again.

Messages are written and parsed by Jeepney. Handlers of signals and replies run in the order in which the bus delivers
the messages.
"""

import asyncio
import logging
import os
import stat
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import jeepney
from jeepney import low_level
from jeepney.auth import BEGIN, AuthenticationError, Authenticator

from ._errors import Closed, Error, NotReachable, TimedOut, UnexpectedReply, from_reply
from ._values import decoded

BUS = "org.freedesktop.DBus"
BUS_PATH = "/org/freedesktop/DBus"

logger = logging.getLogger("notifyd")

# If more bytes than this wait to be written, the bus has stopped reading.
_OUTGOING_LIMIT = 32 << 20
# The D-Bus specification allows no longer message.
_MESSAGE_LIMIT = 128 << 20
# Where logind makes a folder for each user who is logged in.
_RUNTIME = "/run/user"


def session_bus_address() -> str:
    """The address of the user's session bus: from the environment, else of the user's own socket in
    ``$XDG_RUNTIME_DIR`` or ``/run/user/UID``, as for cron(8)."""
    if address := os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return address
    usual = f"{_RUNTIME}/{os.getuid()}"
    # The XDG Base Directory Specification says to ignore relative paths.
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    folders = dict.fromkeys(folder for folder in (named, usual) if folder.startswith("/"))
    buses = {f"{folder}/bus": _flaw_of_bus(f"{folder}/bus") for folder in folders}
    for bus, flaw in buses.items():
        if flaw is None:
            # As in an address of D-Bus; quote() leaves "~" as it is.
            return "unix:path=" + quote(bus, safe="/-_.*").replace("~", "%7e")
    raise NotReachable(
        "No session bus is known: DBUS_SESSION_BUS_ADDRESS is not set, and "
        + ", and ".join(filter(None, buses.values()))
        + "; set DBUS_SESSION_BUS_ADDRESS to the address of the bus."
    )


def _flaw_of_bus(path: str) -> str | None:
    """Why a path is not the socket of this user's bus: whoever else owns it could read and answer everything."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no {path}"
    except OSError as error:
        return f"{path} cannot be used: {error.strerror}"
    if not stat.S_ISSOCK(status.st_mode):
        return f"{path} is not a socket"
    if status.st_uid != os.getuid():
        return f"{path} belongs to user {status.st_uid}, and not to user {os.getuid()}"
    return None


@dataclass(frozen=True)
class Message:
    """A signal or a reply."""

    sender: str
    interface: str
    member: str
    signature: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class _Pending:
    destination: str
    complete: Callable[[Message | Error], None]


class Connection:
    """One connection to a message bus."""

    def __init__(
        self,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        is_owner: Callable[[str, str], bool],
        on_signal: Callable[[Message], None],
        on_loss: Callable[["Connection"], None],
    ) -> None:
        self.unique_name = ""
        """The name that the bus gave this connection, such as ``:1.42``."""
        self._reader, self._writer = streams
        self._is_owner = is_owner
        self._on_signal = on_signal
        self._on_loss = on_loss
        self._serials = count(1)
        self._pending: dict[int, _Pending] = {}
        self._error: Error | None = None
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        address: str,
        timeout: float,
        *,
        is_owner: Callable[[str, str], bool] = lambda connection, name: True,
        on_signal: Callable[[Message], None] = lambda signal: None,
        on_loss: Callable[["Connection"], None] = lambda connection: None,
    ) -> "Connection":
        """Connects to a bus.

        ``address`` is a list of `server addresses
        <https://dbus.freedesktop.org/doc/dbus-specification.html#addresses>`_.
        ``is_owner`` tells whether a connection owns a well-known name: only its owner may answer a call to a name.
        ``on_loss`` is called when the connection is lost, but not when it is closed.

        Raises NotReachable.
        """
        problem = f"“{address}” is not the address of a message bus. Write one like unix:path=/run/user/1000/bus."
        for path in _paths(address):
            try:
                async with asyncio.timeout(timeout):
                    streams = await asyncio.open_unix_connection(path)
                    connection = cls(streams, is_owner, on_signal, on_loss)
                    try:
                        await connection._introduce(timeout)
                    except BaseException:
                        connection.close()
                        raise
                    return connection
            except TimeoutError:
                problem = f"The message bus at {address} does not answer."
            except (OSError, AuthenticationError) as error:
                problem = f"There is no message bus at {address}: {getattr(error, 'strerror', None) or error}."
        raise NotReachable(problem)

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._error is None

    def close(self) -> None:
        """Closes the connection. Calls that wait for a reply fail."""
        self._end(Closed("The client was closed."))

    async def wait_closed(self) -> None:
        """Waits until the socket is closed."""
        try:
            await self._writer.wait_closed()
        except OSError:
            pass

    async def call(
        self,
        member: str,
        signature: str = "",
        arguments: tuple[Any, ...] = (),
        *,
        of: str = BUS,
        at: str = BUS_PATH,
        on: str = BUS,
        returns: str = "",
        auto_start: bool = True,
        timeout: float,
    ) -> tuple[Any, ...]:
        """Calls a method and waits for its reply. The call may take effect even if the waiting is cancelled.

        ``of``, ``at`` and ``on`` are the interface, the object and the bus name. ``returns`` is the signature of the
        reply.
        ``auto_start``: whether the bus starts the service.
        """
        reply = await self.request(
            member, signature, arguments, of=of, at=at, on=on, auto_start=auto_start, timeout=timeout
        )
        if reply.signature != returns:
            raise UnexpectedReply(
                f"The reply to {member} does not have the form of {of}. Does another program use the name?"
            )
        return reply.arguments

    async def request(
        self,
        member: str,
        signature: str,
        arguments: tuple[Any, ...],
        *,
        of: str,
        at: str,
        on: str,
        auto_start: bool,
        timeout: float,
    ) -> Message:
        """As ``call``, with the message of the reply."""
        answer: asyncio.Future[Message | Error] = asyncio.get_running_loop().create_future()

        def complete(result: Message | Error) -> None:
            if not answer.done():
                answer.set_result(result)

        serial = self.start(member, signature, arguments, of=of, at=at, on=on, auto_start=auto_start, complete=complete)
        try:
            async with asyncio.timeout(timeout):
                result = await answer
        except TimeoutError:
            raise TimedOut(f"No reply to {member} arrived within {timeout:g} seconds.") from None
        finally:
            self._pending.pop(serial, None)
        if isinstance(result, Error):
            raise result
        return result

    def start(
        self,
        member: str,
        signature: str,
        arguments: tuple[Any, ...],
        *,
        of: str = BUS,
        at: str = BUS_PATH,
        on: str = BUS,
        auto_start: bool = True,
        complete: Callable[[Message | Error], None] | None = None,
    ) -> int:
        """Sends a call. ``complete`` gets its reply, in order with the signals; without it there is none."""
        address = jeepney.DBusAddress(at, on, of)
        call = jeepney.new_method_call(address, member, signature or None, arguments)
        if not auto_start:
            call.header.flags |= jeepney.MessageFlag.no_auto_start
        if complete is None:
            call.header.flags |= jeepney.MessageFlag.no_reply_expected
        serial = self._write(call)
        if complete is not None:
            self._pending[serial] = _Pending(on, complete)
        return serial

    async def add_match(self, rule: str, timeout: float) -> None:
        """Has the bus deliver the signals that match a rule."""
        await self.call("AddMatch", "s", (rule,), timeout=timeout)

    def remove_match(self, rule: str) -> None:
        """Ends what ``add_match`` began."""
        if self.is_open:
            self.start("RemoveMatch", "s", (rule,))

    # Writing

    def _write(self, message: Any) -> int:
        if self._error is not None:
            raise self._error
        if self._writer.transport.get_write_buffer_size() > _OUTGOING_LIMIT:
            raise NotReachable("The message bus has stopped reading.")
        serial = next(self._serials) % 0xFFFF_FFFF + 1
        # All of it at once: messages leave in the order of the calls, and none is cut off by a cancelled task.
        self._writer.write(message.serialise(serial))
        return serial

    async def _introduce(self, timeout: float) -> None:
        authenticator = Authenticator()
        for line in authenticator:
            self._writer.write(line)
            answer = await self._reader.read(1024)
            if not answer:
                raise ConnectionResetError("it closed the connection")
            authenticator.feed(answer)
        self._writer.write(BEGIN)
        self._reading = asyncio.create_task(self._read())
        (self.unique_name,) = await self.call("Hello", returns="s", timeout=timeout)

    # Reading

    async def _read(self) -> None:
        received = bytearray()
        try:
            while data := await self._reader.read(1 << 16):
                received += data
                for frame in _frames(received):
                    self._receive(frame)
        except (OSError, ValueError) as error:
            logger.debug("The message bus sends what cannot be read", extra={"error": str(error)})
        self._end(NotReachable("The connection to the message bus is gone."))

    def _receive(self, frame: bytes) -> None:
        # Another program can send anything: it must not end the connection.
        try:
            message = low_level.Message.from_buffer(frame)
            header, fields = message.header, message.header.fields
            signature = fields.get(jeepney.HeaderFields.signature, "")
            parsed = Message(
                sender=fields.get(jeepney.HeaderFields.sender, ""),
                interface=fields.get(jeepney.HeaderFields.interface, ""),
                member=fields.get(jeepney.HeaderFields.member, ""),
                signature=signature,
                arguments=decoded(signature, message.body),
            )
            kind = header.message_type
            if kind is jeepney.MessageType.signal:
                self._on_signal(parsed)
            elif kind is jeepney.MessageType.method_call:
                self._refuse(message)
            else:
                error = fields.get(jeepney.HeaderFields.error_name, "") if kind is jeepney.MessageType.error else None
                self._answer(fields.get(jeepney.HeaderFields.reply_serial, 0), error, parsed)
        except Exception:
            logger.debug("A message was ignored", exc_info=True)

    def _answer(self, serial: int, error: str | None, reply: Message) -> None:
        pending = self._pending.get(serial)
        # A bus may deliver answers that nobody asked for, and serial numbers can be guessed.
        if pending is None or not self._may_answer(reply.sender, pending.destination, error is not None):
            return
        del self._pending[serial]
        if error is None:
            pending.complete(reply)
            return
        text = reply.arguments[0] if reply.signature.startswith("s") else "no message was given"
        pending.complete(from_reply(error, text, from_bus=reply.sender == BUS))

    def _may_answer(self, sender: str, destination: str, is_error: bool) -> bool:
        if sender == destination:
            return True
        if sender == BUS:
            return is_error
        return destination != BUS and not destination.startswith(":") and self._is_owner(sender, destination)

    def _refuse(self, call: Any) -> None:
        """Answers a call: this connection offers nothing but its presence."""
        if call.header.flags & jeepney.MessageFlag.no_reply_expected:
            return
        fields = call.header.fields
        if fields.get(jeepney.HeaderFields.interface) == "org.freedesktop.DBus.Peer" and (
            fields.get(jeepney.HeaderFields.member) == "Ping"
        ):
            self._write(jeepney.new_method_return(call))
            return
        text = "This program offers no methods."
        self._write(jeepney.new_error(call, "org.freedesktop.DBus.Error.UnknownMethod", "s", (text,)))

    def _end(self, error: Error) -> None:
        if self._error is not None:
            return
        self._error = error
        if self._reading is not None and self._reading is not asyncio.current_task():
            self._reading.cancel()
        self._writer.close()
        pending, self._pending = self._pending, {}
        for call in pending.values():
            call.complete(error)
        if not isinstance(error, Closed):
            self._on_loss(self)


def _frames(received: bytearray) -> Iterator[bytes]:
    """Takes the whole messages off the bytes that were received."""
    while len(received) >= 16:
        try:
            size = low_level.calc_msg_size(bytes(received[:16]))
        except (KeyError, struct.error) as error:
            raise ValueError("this is not a D-Bus message") from error
        if size > _MESSAGE_LIMIT:
            raise ValueError("a message is too long")
        if len(received) < size:
            return
        frame = bytes(received[:size])
        del received[:size]
        yield frame


def _paths(address: str) -> Iterator[str]:
    """The paths of the sockets in an address."""
    for server in address.split(";"):
        transport, _, options = server.partition(":")
        values = dict(option.partition("=")[::2] for option in options.split(","))
        if transport == "unix" and "path" in values:
            yield os.fsdecode(unquote_to_bytes(values["path"]))
        elif transport == "unix" and "abstract" in values:
            yield "\0" + os.fsdecode(unquote_to_bytes(values["abstract"]))

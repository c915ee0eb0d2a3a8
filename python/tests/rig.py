"""A private bus, the built daemon and a stand-in for the notification server. All can be killed and started again."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import jeepney
from jeepney.io.asyncio import DBusConnection, open_dbus_connection

from notifyd import Client

T = TypeVar("T")

BUILD = Path(os.environ.get("NOTIFYD_BUILD") or Path(__file__).parents[2] / ".build/debug")
PATIENCE = 15 * float(os.environ.get("NOTIFYD_TIMEOUT_FACTOR", "1"))
"""Seconds after which a condition that does not come true is a failure."""

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""

CONFIGURATION = """
[banner]
max_per_second = 0
"""


async def soon(work: Awaitable[T]) -> T:
    """What comes within the patience of the tests."""
    async with asyncio.timeout(PATIENCE):
        return await work


async def until(fact: str, condition: Callable[[], Awaitable[object]]) -> None:
    """Asks until a condition holds."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while not await condition():
        assert asyncio.get_running_loop().time() < end, f"{fact}: not within {PATIENCE:g} seconds"
        await asyncio.sleep(0.02)


class NotificationServer:
    """Answers ``Notify`` and keeps the titles of the banners."""

    def __init__(self, address: str) -> None:
        self.banners: list[str] = []
        self._address = address
        self._serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        bus = await open_dbus_connection(self._address)
        owner = jeepney.DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        await bus.send(jeepney.new_method_call(owner, "RequestName", "su", ("org.freedesktop.Notifications", 0)))
        self._serving = asyncio.create_task(self._serve(bus))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._serving is not None
        self._serving.cancel()
        await asyncio.wait([self._serving])

    async def _serve(self, bus: DBusConnection) -> None:
        with suppress(EOFError, OSError):
            try:
                while True:
                    message = await bus.receive()
                    if message.header.message_type is jeepney.MessageType.method_call:
                        await bus.send(self._answer(message))
            finally:
                bus.writer.close()

    def _answer(self, call: Any) -> Any:
        match call.header.fields[jeepney.HeaderFields.member]:
            case "Notify":
                self.banners.append(call.body[3])
                return jeepney.new_method_return(call, "u", (len(self.banners),))
            case "GetCapabilities":
                return jeepney.new_method_return(call, "as", (["body", "actions"],))
            case "GetServerInformation":
                return jeepney.new_method_return(call, "ssss", ("stand-in", "notifyd", "1", "1.2"))
        return jeepney.new_method_return(call)


class Rig:
    """A private bus with a notification server and the daemon."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bus: asyncio.subprocess.Process | None = None
        self._daemon: asyncio.subprocess.Process | None = None
        self._server: NotificationServer | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        # The path of a socket has at most 107 bytes.
        sockets = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="notifyd-"))
        self._socket = Path(sockets, "bus")
        self.address = f"unix:path={self._socket}"
        (self._folder / "bus.conf").write_text(BUS.format(socket=self._socket))
        (self._folder / "config.toml").write_text(CONFIGURATION)
        self._stack.push_async_callback(self.kill_bus)
        self._stack.push_async_callback(self.kill_daemon)
        await self.start_bus()
        await self.start_daemon()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print((self._folder / "notifyd.log").read_text())
        await self._stack.aclose()

    @property
    def banners(self) -> list[str]:
        """The titles of the banners since the start of the bus."""
        assert self._server is not None
        return self._server.banners

    def client(self) -> Client:
        """A client on this bus."""
        return Client(self.address, timeout=PATIENCE)

    async def start_bus(self) -> None:
        """Starts the bus and a notification server."""
        with suppress(FileNotFoundError):
            self._socket.unlink()
        self._bus = await asyncio.create_subprocess_exec(
            "dbus-daemon",
            f"--config-file={self._folder}/bus.conf",
            "--nofork",
            "--nopidfile",
            "--print-address=1",
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._bus.stdout is not None
        # It prints its address when it listens.
        assert await soon(self._bus.stdout.readline())
        self._server = NotificationServer(self.address)
        await self._server.__aenter__()

    async def kill_bus(self) -> None:
        """Kills the bus. The daemon ends with it."""
        if self._server is not None:
            await self._server.__aexit__(None, None, None)
            self._server = None
        await _kill(self._bus)
        self._bus = None

    async def start_daemon(self) -> None:
        """Starts the daemon, with the state of the last one."""
        with (self._folder / "notifyd.log").open("a") as log:
            self._daemon = await asyncio.create_subprocess_exec(
                BUILD / "notifyd",
                "--address",
                self.address,
                "--config",
                f"{self._folder}/config.toml",
                "--state",
                f"{self._folder}/state",
                stdout=log,
                stderr=log,
            )
        async with Client(self.address) as client:

            async def answers() -> bool:
                with suppress(Exception):
                    await client.unread()
                    return True
                return False

            await until("notifyd answers", answers)

    async def kill_daemon(self) -> None:
        """Ends the daemon as a crash would."""
        await _kill(self._daemon)
        self._daemon = None

    async def restart_daemon(self) -> None:
        """Kills the daemon and starts another."""
        await self.kill_daemon()
        await self.start_daemon()

    async def restart_bus(self) -> None:
        """Kills the bus and starts it again, with a daemon."""
        await self.kill_bus()
        await self.kill_daemon()
        await self.start_bus()
        await self.start_daemon()


async def _kill(process: asyncio.subprocess.Process | None) -> None:
    if process is None:
        return
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    await soon(process.wait())
    # The transport of its pipe.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()

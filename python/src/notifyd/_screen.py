"""Screens: standing claims that outlive the daemon."""

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, get_args

from ._connection import Connection
from ._errors import Closed, Error, NotReachable, TimedOut, UnexpectedReply, UnknownScreen
from ._manager import ConnectionManager, Subscriber, in_background, uncancelled
from ._topics import ROUTER, TopicFilter
from ._types import Announcement, DaemonChanged, Mode, State
from ._values import choice, flag, whole

PATH = "/org/notifyd/Router1"

_SHORTEST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


def screen_options(
    mode: Mode | None, state: State | None, lease: float | None, clear: bool | None
) -> dict[str, tuple[str, Any]]:
    """The options of ``OpenScreen`` and ``UpdateScreen``; ``None`` changes nothing."""
    options: dict[str, tuple[str, Any]] = {}
    if mode is not None:
        options["mode"] = ("s", choice(mode, get_args(Mode), "A mode"))
    if state is not None:
        options["state"] = ("s", choice(state, get_args(State), "A state"))
    if lease is not None:
        options["lease"] = ("u", whole(lease, 1, "A lease is 0 seconds to 136 years long."))
    if clear is not None:
        options["clear"] = ("b", flag(clear, "“clear”"))
    return options


@dataclass(frozen=True)
class _Registration:
    id: int
    # The id is valid only for this daemon, so calls about it go to its unique name.
    daemon: str
    connection: Connection


class Screen:
    """A standing claim: while it is open, events at or below its topic get no banner.

    Open it with ``async with``. After a restart of the daemon or the bus it is opened again with its last options. It
    ends with its block, when its client is closed, and when this program exits or is killed.
    """

    def __init__(self, manager: ConnectionManager, topic: str, options: dict[str, tuple[str, Any]]) -> None:
        self.topic = TopicFilter(topic).topic
        """The screen covers this topic and everything below it."""
        self._manager = manager
        self._options = options
        self._registration: _Registration | None = None
        self._is_open = False
        # Changes are applied one after the other: so the daemon has the latest options, or is about to get them.
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._subscriber = Subscriber([], self._receive, lambda error: self._end())

    @property
    def id(self) -> int | None:
        """The daemon's number for the screen. It changes after a restart of the daemon; ``None`` while there is
        none."""
        current = self._current()
        return current.id if current is not None else None

    async def __aenter__(self) -> Self:
        if self._is_open:
            raise RuntimeError(f"The screen on {self.topic} is open already.")
        # A cancelled call leaves no open screen.
        await uncancelled(self._open(), lambda _: in_background(self._close()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await uncancelled(self._close())

    async def update(
        self,
        *,
        state: State | None = None,
        mode: Mode | None = None,
        lease: float | None = None,
        clear: bool | None = None,
    ) -> None:
        """Changes the given options. While there is no daemon the change is kept for the next one.

        ``state``: a change to a state that suppresses banners also claims existing events, as opening the screen does.
        ``clear``: True claims undecided and shown events now; it also applies to later changes. The others are those of
        ``Client.screen``.

        Raises Refused, and nothing has changed; Closed when the screen has been closed.
        """
        await uncancelled(self._update(screen_options(mode, state, lease, clear)))

    # Operations

    async def _open(self) -> None:
        async with self._lock:
            await self._manager.subscribe(self._subscriber)
            self._is_open = True
            try:
                await self._register()
            except BaseException:
                self._end()
                raise
            self._keeping = in_background(self._keep())

    async def _update(self, change: dict[str, tuple[str, Any]]) -> None:
        async with self._lock:
            if not self._is_open:
                raise Closed(f"The screen on {self.topic} was closed.")
            former, self._options = self._options, self._options | change
            try:
                await self._tell(change)
            except (NotReachable, TimedOut) as error:
                # The options are kept for the next daemon, or until a daemon that hangs recovers.
                if isinstance(error, TimedOut):
                    raise
            except Error:
                self._options = former
                raise
            self._changed.set()

    async def _close(self) -> None:
        async with self._lock:
            last = self._current()
            self._end()
            if last is None:
                return
            try:
                await last.connection.call(
                    "CloseScreen", "t", (last.id,), of=ROUTER, at=PATH, on=last.daemon, auto_start=False, timeout=5
                )
            except Error:
                # The screen is closed here, whatever the reply is.
                pass

    def _end(self) -> None:
        self._is_open = False
        self._registration = None
        self._manager.unsubscribe(self._subscriber)
        if self._keeping is not None:
            self._keeping.cancel()

    # Keeping it open

    def _receive(self, news: Announcement) -> None:
        if isinstance(news, DaemonChanged):
            self._changed.set()

    def _current(self) -> _Registration | None:
        """The registration, if it is one at the present daemon."""
        last = self._registration
        if last is None or last.daemon != self._manager.daemon or not last.connection.is_open:
            return None
        return last

    @property
    def _lease(self) -> int:
        return int(self._options.get("lease", ("u", 0))[1])

    async def _keep(self) -> None:
        """Renews the lease, and opens the screen at each new daemon."""
        pause: float | None = None
        while True:
            renewal = max(self._lease, 1) / 3 if self._lease else None
            try:
                async with asyncio.timeout(pause or renewal):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            async with self._lock:
                try:
                    if self._current() is not None:
                        if self._lease:
                            await self._tell({})
                    # The bus announces the next daemon.
                    elif self._manager.daemon is not None:
                        await self._register()
                    pause = None
                except Error:
                    pause = min(pause * 2 if pause else _SHORTEST_PAUSE, _LONGEST_PAUSE)

    async def _register(self) -> None:
        connection = await self._manager.connection()
        reply = await connection.request(
            "OpenScreen",
            "sa{sv}",
            (self.topic, self._options),
            of=ROUTER,
            at=PATH,
            on=ROUTER,
            auto_start=True,
            timeout=self._manager.timeout,
        )
        if reply.signature != "t":
            raise UnexpectedReply("The reply to OpenScreen does not have the form of org.notifyd.Router1.")
        self._registration = _Registration(reply.arguments[0], reply.sender, connection)

    async def _tell(self, change: dict[str, tuple[str, Any]]) -> None:
        last = self._current()
        if last is None:
            return
        try:
            await last.connection.call(
                "UpdateScreen",
                "ta{sv}",
                (last.id, change),
                of=ROUTER,
                at=PATH,
                on=last.daemon,
                auto_start=False,
                timeout=self._manager.timeout,
            )
        except UnknownScreen:
            # Its lease has ended.
            self._registration = None
            await self._register()

"""Keeps one connection to the bus, opens another when it is lost, and restores the match rules of the subscribers."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from ._connection import BUS, Connection, Message, logger
from ._errors import Closed, Error, NotReachable
from ._topics import ROUTER
from ._types import Announcement, DaemonChanged, announcement

Result = TypeVar("Result")

_OWNER_CHANGED = f"type='signal',sender='{BUS}',interface='{BUS}',member='NameOwnerChanged',arg0='{ROUTER}'"

# The event loop keeps no task alive.
_background: set[asyncio.Task[Any]] = set()


def in_background(work: Coroutine[Any, Any, Result]) -> "asyncio.Task[Result]":
    """Runs work beside the caller. Who waits for the task gets its errors."""
    task = asyncio.create_task(work)
    _background.add(task)

    def ended(task: "asyncio.Task[Result]") -> None:
        _background.discard(task)
        # An error that nobody waits for is reported, unless it is one of ours.
        if not task.cancelled() and (error := task.exception()) and not isinstance(error, Error):
            logger.debug("Work in the background failed", exc_info=error)

    task.add_done_callback(ended)
    return task


async def uncancelled(
    work: Coroutine[Any, Any, Result], undo: Callable[[Result], object] = lambda result: None
) -> Result:
    """Runs work to its end even if the caller is cancelled; its result is then passed to ``undo``."""
    task = in_background(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:

        def ended(task: "asyncio.Task[Result]") -> None:
            if not task.cancelled() and task.exception() is None:
                undo(task.result())

        task.add_done_callback(ended)
        raise


@dataclass(eq=False)
class Subscriber:
    """What hears the signals of the daemon, over all connections."""

    rules: list[str]
    """The match rules of the signals."""
    receive: Callable[[Announcement], None]
    """Called for every signal, also for those of others' rules, and when the daemon appears or leaves."""
    end: Callable[[Error], None]
    """Called when the client is closed."""


class ConnectionManager:
    """Keeps one connection to the bus.

    While there are subscribers it reconnects in the background, with pauses from 50 ms to 10 s. A call that is made
    meanwhile tries to connect at once, and fails if there is still no bus.
    """

    def __init__(self, address: str, timeout: float) -> None:
        self.timeout = timeout
        self.daemon: str | None = None
        """The unique name of the daemon, while it is on the bus."""
        self._address = address
        self._subscribers: list[Subscriber] = []
        self._connection: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._reconnecting: asyncio.Task[None] | None = None
        self._closed = False

    async def connection(self) -> Connection:
        """The connection; opens one if there is none."""
        if self._closed:
            raise Closed("The client was closed.")
        if self._connection is not None and self._connection.is_open:
            return self._connection
        if self._opening is None:
            self._opening = in_background(self._open())
        opening = self._opening
        try:
            # Other callers may wait for it too.
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if self._closed and opening.cancelled():
                raise Closed("The client was closed.") from None
            raise

    async def close(self) -> None:
        """Closes the connection for ever."""
        self._closed = True
        unfinished = [task for task in (self._opening, self._reconnecting) if task is not None]
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished)
        subscribers, self._subscribers = self._subscribers, []
        for subscriber in subscribers:
            subscriber.end(Closed("The client was closed."))
        if self._connection is not None:
            self._connection.close()
            await self._connection.wait_closed()

    # Subscribers

    async def subscribe(self, subscriber: Subscriber) -> None:
        """Adds a subscriber, and returns when the bus has acknowledged its rules: later signals are received."""
        await uncancelled(self._subscribe(subscriber), lambda _: self.unsubscribe(subscriber))

    async def _subscribe(self, subscriber: Subscriber) -> None:
        connection = await self.connection()
        # Before the rules are added, so that no signal after the reply of the bus is missed. From here on a new
        # connection gets these rules too.
        self._subscribers.append(subscriber)
        added = []
        try:
            for rule in subscriber.rules:
                await connection.add_match(rule, self.timeout)
                added.append(rule)
        except Error:
            try:
                if connection.is_open:
                    raise
                await self.connection()
            except Error:
                if subscriber in self._subscribers:
                    self._subscribers.remove(subscriber)
                for rule in added:
                    connection.remove_match(rule)
                raise

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Removes a subscriber."""
        if subscriber not in self._subscribers:
            return
        self._subscribers.remove(subscriber)
        if self._connection is not None:
            for rule in subscriber.rules:
                self._connection.remove_match(rule)

    # Connecting

    async def _open(self) -> Connection:
        try:
            connection = await Connection.open(
                self._address,
                self.timeout,
                is_owner=lambda connection, name: name != ROUTER or connection == self.daemon,
                on_signal=self._receive,
                on_loss=self._lost,
            )
            try:
                await connection.add_match(_OWNER_CHANGED, self.timeout)
                await self._learn_daemon(connection)
                for rule in [rule for subscriber in self._subscribers for rule in subscriber.rules]:
                    await connection.add_match(rule, self.timeout)
                if not connection.is_open:
                    raise NotReachable("The connection to the message bus is gone.")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            # Subscribers that look now miss nothing.
            self._announce(DaemonChanged(self.daemon))
            return connection
        finally:
            self._opening = None

    async def _learn_daemon(self, connection: Connection) -> None:
        """The reply is handled in order with the signals about the owner of the name."""
        learned = asyncio.get_running_loop().create_future()

        def learn(reply: Message | Error) -> None:
            self.daemon = reply.arguments[0] if isinstance(reply, Message) and reply.signature == "s" else None
            if not learned.done():
                learned.set_result(None)

        connection.start("GetNameOwner", "s", (ROUTER,), complete=learn)
        try:
            async with asyncio.timeout(self.timeout):
                await learned
        except TimeoutError:
            raise NotReachable("The message bus does not answer.") from None

    def _lost(self, connection: Connection) -> None:
        if connection is not self._connection:
            return
        self._connection = None
        self.daemon = None
        self._announce(DaemonChanged(None))
        if self._subscribers and not self._closed and self._reconnecting is None:
            self._reconnecting = in_background(self._reconnect())

    async def _reconnect(self) -> None:
        try:
            pause = 0.05
            while self._connection is None and self._subscribers:
                # With jitter, so that the clients of a restarted bus do not all connect at once.
                await asyncio.sleep(pause * random.uniform(0.7, 1.3))
                pause = min(pause * 2, 10)
                try:
                    await self.connection()
                except Error:
                    if self._closed:
                        return
        finally:
            self._reconnecting = None

    # Signals

    def _receive(self, signal: Message) -> None:
        if signal.sender == BUS and signal.member == "NameOwnerChanged" and signal.signature == "sss":
            name, _, owner = signal.arguments
            if name == ROUTER:
                self.daemon = owner or None
                self._announce(DaemonChanged(self.daemon))
        # The bus checks the sender of broadcasts only.
        elif signal.interface == ROUTER and self.daemon is not None and signal.sender == self.daemon:
            if news := announcement(signal.member, signal.signature, signal.arguments):
                self._announce(news)

    def _announce(self, news: Announcement) -> None:
        for subscriber in list(self._subscribers):
            subscriber.receive(news)

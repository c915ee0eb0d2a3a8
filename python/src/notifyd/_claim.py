"""Provisional claims: an event is held while a block runs."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType

from ._errors import Error, NotClaimant, NotReachable
from ._manager import ConnectionManager, Subscriber, in_background, uncancelled
from ._types import Announcement, DaemonChanged

_RETRY = 0.05


class ProvisionalClaim:
    """Holds an event while a block runs: see ``Client.claim_provisionally``."""

    def __init__(
        self,
        manager: ConnectionManager,
        id: int,
        within: float,
        claim_provisionally: Callable[[int, float], Awaitable[str]],
        call: Callable[[str, int], Awaitable[object]],
    ) -> None:
        self._manager = manager
        self._id = id
        self._within = within
        self._claim_provisionally = claim_provisionally
        self._call = call
        self._is_held = False
        self._was_restarted = False
        self._deadline = 0.0
        self._daemon = asyncio.Event()
        self._daemon.set()
        self._holding: asyncio.Task[None] | None = None
        self._subscriber = Subscriber([], self._receive, lambda error: None)

    async def __aenter__(self) -> bool:
        # A cancelled call holds nothing.
        return await uncancelled(self._begin(), lambda is_held: is_held and in_background(self._finish(is_done=False)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._deadline:
            await uncancelled(self._finish(is_done=kind is None))

    async def _begin(self) -> bool:
        self._deadline = asyncio.get_running_loop().time() + self._within
        await self._manager.subscribe(self._subscriber)
        try:
            self._is_held = await self._claim_provisionally(self._id, self._within) == "suppressed"
        finally:
            if not self._is_held:
                self._deadline = 0
                self._manager.unsubscribe(self._subscriber)
        return self._is_held

    async def _finish(self, *, is_done: bool) -> None:
        try:
            await self._settle(is_done)
        finally:
            self._manager.unsubscribe(self._subscriber)
            if self._holding is not None:
                self._holding.cancel()

    async def _settle(self, is_done: bool) -> None:
        while True:
            if self._holding is not None:
                await self._holding
            try:
                if not is_done:
                    await self._call("Release", self._id)
                elif self._is_held:
                    await self._call("Complete", self._id)
                else:
                    await self._call("Claim", self._id)
                return
            except Error as error:
                # Without a daemon, or after a restart, nobody holds the event.
                if not is_done:
                    return
                # Its time is over, unless a new daemon does not know of the claim yet.
                if isinstance(error, NotClaimant) and self._was_restarted:
                    continue
                # What was done is claimed when the daemon is back.
                if not isinstance(error, NotReachable) or not await self._daemon_is_back():
                    raise

    # Restarts of the daemon

    def _receive(self, news: Announcement) -> None:
        if not isinstance(news, DaemonChanged):
            return
        self._is_held = False
        self._was_restarted = True
        if news.owner is None:
            self._daemon.clear()
        else:
            self._daemon.set()
            former = self._holding
            self._holding = in_background(self._hold_again(former))

    async def _hold_again(self, former: "asyncio.Task[None] | None") -> None:
        """The new daemon announces undecided events again, with time to claim them."""
        if former is not None:
            await former
        left = self._deadline - asyncio.get_running_loop().time()
        if left < 0.001:
            return
        try:
            self._is_held = await self._claim_provisionally(self._id, left) == "suppressed"
            self._was_restarted = not self._is_held
        except Error:
            pass

    async def _daemon_is_back(self) -> bool:
        """Waits for a daemon; ``False`` when the time of the claim is over."""
        left = self._deadline - asyncio.get_running_loop().time()
        if left <= 0:
            return False
        try:
            async with asyncio.timeout(left):
                await self._daemon.wait()
                # What has the name may be a daemon that cannot start, which answers every call with its error.
                await asyncio.sleep(_RETRY)
            return True
        except TimeoutError:
            return False

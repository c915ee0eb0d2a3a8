import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rig import Rig

# The tests use no other bus, whatever they forget.
os.environ["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A private bus with a notification server and the built daemon."""
    async with Rig(tmp_path) as rig:
        yield rig

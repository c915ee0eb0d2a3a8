"""What the parts of ntfy.py share: notifyd, the bridge and the server, and what came and went."""

import asyncio
import collections
import json
import os
import signal
import subprocess
import sys
import time

import notifyd
from ntfy_stand_in import Server

PRODUCTS, FOLDER = sys.argv[1:3]
BEGIN = time.monotonic()
PATIENCE = 30 * float(os.environ.get("NOTIFYD_TIMEOUT_FACTOR", "1"))


class Failed(Exception):
    pass


def say(fact):
    print(f"ok: {fact} ({time.monotonic() - BEGIN:.1f} s)" if os.environ.get("RIG_TIMES") else f"ok: {fact}", flush=True)


def expect(fact, found, wanted):
    if found != wanted:
        raise Failed(f"{fact}: it is {found!r}, and should be {wanted!r}")


async def eventually(fact, condition):
    """Asks again until it is so; returns what the condition returns."""
    until = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        if time.monotonic() > until:
            raise Failed(f"{fact} (not within {PATIENCE} seconds)")
        await asyncio.sleep(0.03)


class Rig:
    """notifyd, the bridge and the server."""

    def __init__(self):
        self.server = Server(token="tk_secret", burst=100000, keepalive=0.3)
        self.daemon = self.bridge = None
        self.client = None
        self.maps = ""
        self.expected = collections.Counter()
        self.number = 0

    async def begin(self):
        await self.server.start()
        with open(f"{FOLDER}/config/notifyd/config.toml", "w") as file:
            file.write("""
                [defaults]
                window = "300ms"
                [banner]
                max_per_second = 0
                """)
        with open(f"{FOLDER}/config/notifyd/token", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("tk_secret\n")
        self.configure("""
            [[server.map]]
            subscribe = ["pictures"]
            topic = "/pictures"
            images = true
            clear = false

            [[server.map]]
            publish = "phone"
            topics = ["/post"]
            when = "always"

            [[server.map]]
            publish = "later"
            topics = ["/run"]
            after = "1500ms"

            [[server.map]]
            publish = "locked"
            topics = ["/mail"]
            after = "1h"
            """)
        await self.start_daemon()
        self.client = await notifyd.Client().__aenter__()

    def configure(self, maps=None, more=""):
        """The maps stay if no others are given; further servers do not."""
        self.maps = maps = maps or self.maps
        with open(f"{FOLDER}/config/notifyd/ntfy.toml", "w") as file:
            file.write(f"""
                [[server]]
                url = "http://localhost:{self.server.port}"
                token = {{ file = "token" }}
                keepalive = "300ms"
                silence = "1s"

                [[server.map]]
                subscribe = ["a", "b"]
                topic = "/ntfy/{{name}}"
                {maps}
                {more}
                """)

    # Processes

    def start(self, name, **environment):
        log = open(f"{FOLDER}/{name}.log", "a")
        return subprocess.Popen(
            [f"{PRODUCTS}/{name}"], stderr=log, stdout=log, env={**os.environ, **environment})

    async def start_daemon(self):
        self.daemon = self.start("notifyd")
        await eventually("notifyd has its name", lambda: self.has_name("org.notifyd.Router1"))

    async def has_name(self, name):
        process = await asyncio.create_subprocess_exec(
            "gdbus", "wait", "--session", "--timeout", "1", name, stderr=subprocess.DEVNULL)
        return await process.wait() == 0

    async def start_bridge(self, wait=True, **environment):
        self.bridge = self.start("notifyd-ntfy", **environment)
        if wait:
            await eventually("the bridge is connected", lambda: self.state("connected"))

    async def state(self, wanted):
        return (await self.property("State")) == wanted

    async def property(self, name):
        process = await asyncio.create_subprocess_exec(
            "busctl", "--user", "--json=short", "--auto-start=no", "get-property", "org.notifyd.Bridge.ntfy",
            "/org/notifyd/Bridge1", "org.notifyd.Bridge1", name, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        output, _ = await process.communicate()
        return json.loads(output)["data"] if output else None

    async def problem(self, words):
        """Whether a problem is told with all these words."""
        return any(all(word in reason for word in words) for reason, _ in await self.property("Problems") or [])

    async def end(self, process, number=signal.SIGKILL):
        process.send_signal(number)
        await eventually("the process ends", lambda: process.poll() is not None)

    async def restart_bridge(self):
        await self.end(self.bridge)
        await self.start_bridge()

    # What is published there, and comes here

    def publish(self, topic="a", **members):
        """A message that has to come exactly once."""
        self.number += 1
        text = f"message {self.number}"
        self.expected[text] += 1
        return self.server.publish(topic, text, **members)

    async def events(self, topic="/ntfy"):
        events, after = [], 0
        while page := await self.client.history(topic, after=after):
            events += page
            after = page[-1].event.id
        return events

    async def event(self, text, topic="/ntfy"):
        return next((one for one in await self.events(topic) if one.event.body == text), None)

    async def outcome(self, text, wanted):
        event = await self.event(text)
        return event if event and event.outcome in wanted else None

    # What is published here, and goes there

    def told(self, topic, event="message"):
        """The texts that listeners of a topic have heard, or the sequences for other kinds."""
        found = [one for one in self.server.cache if one["topic"] == topic and one["event"] == event]
        return [one["message"] if event == "message" else one["sequence_id"] for one in found]

    def sequence(self, text, topic="phone"):
        return next((
            one["sequence_id"] for one in self.server.cache if one["topic"] == topic and one.get("message") == text), None)

    async def all_came(self, fact):
        found = collections.Counter()

        async def complete():
            nonlocal found
            found = collections.Counter(one.event.body for one in await self.events())
            return not self.expected - found

        try:
            await eventually(fact, complete)
        except Failed:
            raise Failed(f"{fact}: lost {dict(self.expected - found)}") from None
        expect(f"{fact}: doubled", found - self.expected, collections.Counter())
        say(f"{fact}: nothing lost, nothing doubled")

#!/usr/bin/python3
"""Shows how far your mates have run, from the present state on, without a gap (dasbus).

    mates.py RUN                            mates.py r1

Somebody else publishes: notifyctl send /run/r1/mate/Mina -f distance:integer=1200
Needs the Debian packages python3-dasbus and python3-gi.
"""

import sys

from dasbus.connection import SessionMessageBus
from dasbus.loop import EventLoop
from dasbus.typing import get_native

ROUTER = "org.notifyd.Router1"


class Mates:
    """The current values below a topic: what a snapshot says, and what the signals after it change."""

    def __init__(self, run):
        self.topic = f"/run/{run}/mate"
        self.router = SessionMessageBus().get_proxy(ROUTER, "/org/notifyd/Router1")
        # Subscribe first: what comes between the subscription and the snapshot is in both, and told apart by its id.
        # Signals are handled by the loop, so none is before the snapshot's answer.
        self.router.Event.connect(self.on_event)
        self.router.Removed.connect(self.on_removed)
        self.cursor, values = self.router.Snapshot(self.topic)
        for id, topic, title, body, published, outcome, fields in values:
            self.show(topic, fields)

    def on_event(self, topic, id, title, body, fields, info):
        # dasbus hears all topics; one with many events would rather use a match rule with arg0path.
        if topic.startswith(self.topic + "/") and get_native(info.get("retained", False)) and id > self.cursor:
            self.show(topic, fields)

    def on_removed(self, topic, id):
        if topic.startswith(self.topic + "/") and id > self.cursor:
            print(topic.rsplit("/", 1)[1], "is gone", flush=True)

    def show(self, topic, fields):
        print(topic.rsplit("/", 1)[1], get_native(fields).get("distance", "?"), "m", flush=True)


if len(sys.argv) != 2:
    sys.exit(__doc__)
mates = Mates(sys.argv[1])
EventLoop().run()

#!/usr/bin/python3
"""Shows how far your mates have run, from the present state on, without a gap (dasbus).

    mates.py RUN                            mates.py r1

Publish values with: notifyctl send /run/r1/mate/Mina -f distance:integer=1200 --retain
Needs the Debian packages python3-dasbus and python3-gi.
"""

import sys

from dasbus.client.observer import DBusObserver
from dasbus.connection import SessionMessageBus
from dasbus.error import DBusError
from dasbus.loop import EventLoop
from dasbus.typing import get_native

ROUTER = "org.notifyd.Router1"


class Mates:
    """The current values below a topic: what a snapshot says, and what the signals after it change."""

    def __init__(self, run):
        self.topic = f"/run/{run}/mate/"
        self.cursor, self.distances = 0, {}
        bus = SessionMessageBus()
        self.router = bus.get_proxy(ROUTER, "/org/notifyd/Router1")
        # Subscribe first: what comes between the subscription and the snapshot is in both, and told apart by its id.
        # Signals wait for the loop, so none is handled before the snapshot is there.
        self.router.Event.connect(self.on_event)
        self.router.Removed.connect(self.on_removed)
        self.look()
        # Changes while notifyd did not run are not announced.
        self.observer = DBusObserver(bus, ROUTER)
        self.observer.service_available.connect(lambda observer: self.look())
        self.observer.connect_once_available()

    def look(self):
        try:
            self.cursor, values = self.router.Snapshot(self.topic.rstrip("/"))
        except DBusError as error:
            print(error, file=sys.stderr, flush=True)
            return
        present = {topic: fields for id, topic, title, body, published, outcome, fields in values}
        for topic in self.distances.keys() - present.keys():
            self.forget(topic)
        for topic, fields in present.items():
            self.show(topic, fields)

    def on_event(self, topic, id, title, body, fields, info):
        # dasbus hears all topics; where there are many events one would rather use a match rule with arg0path.
        if topic.startswith(self.topic) and get_native(info).get("retained") and id > self.cursor:
            self.show(topic, fields)

    def on_removed(self, topic, id):
        if topic in self.distances and id > self.cursor:
            self.forget(topic)

    def show(self, topic, fields):
        distance = get_native(fields).get("distance")
        if not isinstance(distance, (int, float)):  # what others publish may be anything
            distance = "?"
        if self.distances.get(topic) != distance:
            self.distances[topic] = distance
            print(topic.rsplit("/", 1)[1], distance, "m", flush=True)

    def forget(self, topic):
        del self.distances[topic]
        print(topic.rsplit("/", 1)[1], "is gone", flush=True)


if len(sys.argv) != 2:
    sys.exit(__doc__)
mates = Mates(sys.argv[1])
EventLoop().run()

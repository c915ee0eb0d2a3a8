"""Prints topic and title of every event below TOPIC, which ends in "/": listen-gio.py TOPIC (with Gio)"""

import sys

from gi.repository import Gio, GLib

ROUTER = "org.notifyd.Router1"


def on_event(bus, sender, path, interface, signal, arguments):
    topic, event, title, body, fields, info = arguments.unpack()
    print(topic, title)


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
bus.signal_subscribe(None, ROUTER, "Event", None, sys.argv[1], Gio.DBusSignalFlags.MATCH_ARG0_PATH, on_event)
GLib.MainLoop().run()

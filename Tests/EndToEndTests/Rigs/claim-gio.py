"""Shows a topic and therefore claims its events: claim-gio.py TOPIC (with Gio)"""

import sys

from gi.repository import Gio, GLib

ROUTER, PATH = "org.notifyd.Router1", "/org/notifyd/Router1"


def on_event(bus, sender, path, interface, signal, arguments):
    claim = GLib.Variant("(t)", (arguments[1],))
    verdict, = bus.call_sync(ROUTER, PATH, ROUTER, "Claim", claim, None, 0, -1, None)
    print(arguments[0], arguments[2], verdict)


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
bus.signal_subscribe(None, ROUTER, "Event", PATH, sys.argv[1], Gio.DBusSignalFlags.NONE, on_event)
GLib.MainLoop().run()

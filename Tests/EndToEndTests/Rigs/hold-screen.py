"""Opens a screen and holds it until it is ended: hold-screen.py TOPIC"""

import sys

from gi.repository import Gio, GLib

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
screen = bus.call_sync("org.notifyd.Router1", "/org/notifyd/Router1", "org.notifyd.Router1", "OpenScreen",
                       GLib.Variant("(sa{sv})", (sys.argv[1], {})), None, Gio.DBusCallFlags.NONE, 10_000, None)
print("open", screen.unpack()[0])
GLib.MainLoop().run()

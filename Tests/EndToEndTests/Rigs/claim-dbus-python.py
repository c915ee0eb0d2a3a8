"""Shows a topic and therefore claims its events: claim-dbus-python.py TOPIC"""

import sys

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

ROUTER, PATH = "org.notifyd.Router1", "/org/notifyd/Router1"


def on_event(topic, event, title, body, fields, info):
    # Wait for no reply inside a signal handler: dbus-python would hold back what else arrives.
    router.Claim(event, dbus_interface=ROUTER, error_handler=print,
                 reply_handler=lambda verdict: print(topic, title, verdict))


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
router = bus.get_object(ROUTER, PATH)
bus.add_signal_receiver(on_event, "Event", ROUTER, arg0=sys.argv[1])
GLib.MainLoop().run()

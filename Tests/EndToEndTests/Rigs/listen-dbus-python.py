"""Prints topic and title of every event below TOPIC, which ends in "/": listen-dbus-python.py TOPIC"""

import sys

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

ROUTER = "org.notifyd.Router1"


def on_message(bus, message):
    if message.get_interface() == ROUTER and message.get_member() == "Event":
        topic, event, title, body, fields, info = message.get_args_list()
        print(topic, title)


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
# add_signal_receiver() wants an object path for arg0path, and a topic need not be one.
bus.add_match_string(f"type='signal',interface='{ROUTER}',member='Event',arg0path='{sys.argv[1]}'")
bus.add_message_filter(on_message)
GLib.MainLoop().run()

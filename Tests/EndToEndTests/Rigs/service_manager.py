"""A stand-in for the user's service manager, which starts units and says how they end: service_manager.py RESULT

RESULT is that of all jobs, "done" or "failed". As systemd does, it sends JobRemoved to the caller alone.
It prints the standard input of each unit.
"""

import sys

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.systemd1"


class Manager(dbus.service.Object):
    @dbus.service.method(
        NAME + ".Manager", in_signature="ssa(sv)a(sa(sv))", out_signature="o", sender_keyword="sender")
    def StartTransientUnit(self, unit, mode, properties, others, sender=None):
        names = {str(name) for name, _ in properties}
        for name, value in properties:
            if name == "StandardInputData":
                print(bytes(value).decode(), flush=True)
        result = sys.argv[1] if {"Type", "ExecStart", "KillMode", "CollectMode"} <= names else "a property is missing"
        GLib.timeout_add(10, self.end, unit, result, sender)
        return dbus.ObjectPath("/org/freedesktop/systemd1/job/7")

    def end(self, unit, result, sender):
        for job, how in ((6, "done" if result == "failed" else "failed"), (7, result)):
            signal = dbus.lowlevel.SignalMessage("/org/freedesktop/systemd1", NAME + ".Manager", "JobRemoved")
            signal.set_destination(sender)
            signal.append(job, f"/org/freedesktop/systemd1/job/{job}", unit, how, signature="uoss")
            self.connection.send_message(signal)
        return False


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus)
Manager(bus, "/org/freedesktop/systemd1")
GLib.MainLoop().run()

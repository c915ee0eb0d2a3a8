"""A stand-in for xdg-desktop-portal: fake-portal.py. It prints each address that it is to open, and ends the request as the end of
the address says: "early" (opened, and said before the call is answered), "cancelled", "failed", "forged" (cancelled, after somebody
else has said that it is opened), "silent" (never), and everything else is opened."""

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

PATH = "/org/freedesktop/portal/desktop"


def respond(bus, request, client, code):
    signal = dbus.lowlevel.SignalMessage(request, "org.freedesktop.portal.Request", "Response")
    signal.append(dbus.UInt32(code), dbus.Dictionary({}, signature="sv"), signature="ua{sv}")
    # As the portal does it: only for the caller.
    signal.set_destination(client)
    bus.send_message(signal)


class Portal(dbus.service.Object):
    number = 0

    @dbus.service.method(
        "org.freedesktop.portal.OpenURI", in_signature="ssa{sv}", out_signature="o", sender_keyword="sender",
        async_callbacks=("answer", "refuse"))
    def OpenURI(self, parent, address, options, sender, answer, refuse):
        self.number += 1
        request = f"{PATH}/request/{sender[1:].replace('.', '_')}/{self.number}"
        print(address, flush=True)
        way = address.rsplit("/", 1)[-1]
        if way == "early":
            respond(self.connection, request, sender, 0)
        answer(dbus.ObjectPath(request))
        if way == "forged":
            respond(forger, request, sender, 0)
        code = {"cancelled": 1, "forged": 1, "failed": 2}.get(way, 0)
        if way not in ("early", "silent"):
            GLib.timeout_add(200, lambda: respond(self.connection, request, sender, code))


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
forger = dbus.SessionBus(private=True)
bus = dbus.SessionBus()
portal = Portal(bus, PATH)
name = dbus.service.BusName("org.freedesktop.portal.Desktop", bus)
GLib.MainLoop().run()

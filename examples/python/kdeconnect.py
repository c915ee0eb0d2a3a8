#!/usr/bin/python3
"""Brings the notifications of your phone to notifyd, and takes them off the phone when you have seen them here (dbus-python).

    kdeconnect.py

A notification of the phone is an event at /phone/APP. Dismissed there, it is claimed here; claimed or dismissed here, it
is dismissed there. Only D-Bus is between this program and KDE Connect, of which 22.12 and later are known. KDE Connect
shows a banner of its own: have its plugin “Receive notifications” show none, or there are two.
Needs the Debian packages kdeconnect, python3-dbus and python3-gi.
"""

import hashlib
import re
import sys

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

ROUTER = "org.notifyd.Router1"
NAMES = ["org.kde.kdeconnect", "org.kde.kdeconnectd"]
DEVICES = "org.kde.kdeconnect.device"
LIST = DEVICES + ".notifications"
ONE = LIST + ".notification"
PATH = re.compile(r"/modules/kdeconnect/devices/([^/]+)/notifications(?:/([^/]+))?$")


class Phones:
    def __init__(self, bus: dbus.SessionBus) -> None:
        self.bus = bus
        proxy = bus.get_object(ROUTER, "/org/notifyd/Router1", follow_name_owner_changes=True)
        self.router = dbus.Interface(proxy, ROUTER)
        # Names of events by path of the notification, and back by the number that notifyd gave.
        self.names: dict[str, tuple[str, str]] = {}
        self.paths: dict[int, str] = {}
        for signal, handler in {"notificationPosted": self.posted, "notificationUpdated": self.posted,
                                "notificationRemoved": self.removed, "allNotificationsRemoved": self.cleared}.items():
            bus.add_signal_receiver(handler, signal, LIST, path_keyword="path", sender_keyword="sender")
        bus.add_signal_receiver(self.resolved, "Resolved", ROUTER, ROUTER)
        for name in NAMES:
            bus.watch_name_owner(name, lambda owner, name=name: owner and self.catch_up(name))

    def object(self, path: str, interface: str) -> dbus.Interface:
        name = next((name for name in NAMES if self.bus.name_has_owner(name)), NAMES[0])
        return dbus.Interface(self.bus.get_object(name, path, introspect=False), interface)

    def catch_up(self, name: str) -> None:
        """Tells of what is on the phones already."""
        try:
            daemon = dbus.Interface(self.bus.get_object(name, "/modules/kdeconnect", introspect=False),
                                    "org.kde.kdeconnect.daemon")
            for device in daemon.devices(True, True):
                path = f"/modules/kdeconnect/devices/{device}/notifications"
                for number in self.object(path, LIST).activeNotifications():
                    self.posted(number, path, None)
        except dbus.DBusException as error:
            print(f"KDE Connect: {error}", file=sys.stderr)

    def is_kde_connect(self, sender: str | None) -> bool:
        owners = [self.bus.get_name_owner(name) for name in NAMES if self.bus.name_has_owner(name)]
        return sender is None or sender in owners

    def posted(self, number: str, path: str, sender: str | None) -> None:
        match = PATH.match(path)
        if not match or not self.is_kde_connect(sender):
            return
        one = f"{path}/{number}"
        try:
            known = self.object(one, "org.freedesktop.DBus.Properties").GetAll(ONE)
            device = self.object(path.rsplit("/", 1)[0], "org.freedesktop.DBus.Properties").Get(DEVICES, "name")
        except dbus.DBusException:
            return  # it is gone already
        if known.get("silent"):
            return  # it was there before the phone connected
        app, title = str(known.get("appName", "")), str(known.get("title", ""))
        text = str(known.get("text", "")) or str(known.get("ticker", ""))
        # The phone may use one id for several texts, each of which is news.
        digest = hashlib.sha256(f"{app}\0{title}\0{text}".encode()).hexdigest()[:16]
        source, event = f"kdeconnect:{match[1]}", f"{str(known.get('internalId', number))[:200]}/{digest}"
        if self.names.get(one) == (source, event):
            return
        self.removed(number, path, None)  # the text before this one is gone from the phone
        topic = "/phone/" + (re.sub(r"[^\w.-]", "_", app)[:20] or "unknown")
        options = {"source": source, "event-id": event, "via": "kdeconnect"}
        id = self.router.Publish(topic, title[:250] or app, text[:2000], {"device": str(device), "app": app},
                                 dbus.Dictionary(options, signature="sv"), signature="sssa{sv}a{sv}")
        self.names[one], self.paths[int(id)] = (source, event), one

    def removed(self, number: str, path: str, sender: str | None) -> None:
        one = f"{path}/{number}"
        if not self.is_kde_connect(sender) or one not in self.names:
            return
        source, event = self.names.pop(one)
        self.paths = {id: kept for id, kept in self.paths.items() if kept != one}
        self.router.ClaimNamed(source, event, {"device": "phone", "dismissed": True, "via": "kdeconnect"},
                               signature="ssa{sv}")

    def cleared(self, path: str, sender: str | None) -> None:
        for one in [one for one in self.names if one.startswith(path + "/")]:
            self.removed(one.rsplit("/", 1)[1], path, sender)

    def resolved(self, topic: str, id: int, outcome: str, details: dict) -> None:
        one = self.paths.get(int(id))
        if one is None or outcome not in ("claimed", "retracted", "dismissed"):
            return
        self.paths.pop(int(id))
        self.names.pop(one, None)
        try:
            if self.object(one, "org.freedesktop.DBus.Properties").Get(ONE, "dismissable"):
                self.object(one, ONE).dismiss()
        except dbus.DBusException:
            pass  # it is gone already


if len(sys.argv) > 1:
    sys.exit(__doc__)
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
phones = Phones(dbus.SessionBus())
print("ready", flush=True)
GLib.MainLoop().run()

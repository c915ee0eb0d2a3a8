#!/usr/bin/python3
"""Brings the notifications of your phone to notifyd, and takes them off the phone when you have seen them here (dbus-python).

    kdeconnect.py

A notification of the phone is an event at /phone/APP. Dismissed there, it is claimed here; claimed or dismissed here, it
is dismissed there. One that comes again after it was dismissed is a new event; what a phone repeats when it connects
again, and what KDE Connect still shows when this program is started again, is not: a file in ~/.local/state says what was
told. Only D-Bus is between this program and KDE Connect, of which 22.12 and later are known. KDE Connect shows a banner
of its own: have its plugin “Receive notifications” show none, or there are two.
Needs the Debian packages kdeconnect, python3-dbus and python3-gi.
"""

import hashlib
import json
import os
import re
import sys
import time

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

ROUTER = "org.notifyd.Router1"
NAMES = ["org.kde.kdeconnect", "org.kde.kdeconnectd"]
DEVICES = "org.kde.kdeconnect.device"
LIST = DEVICES + ".notifications"
ONE = LIST + ".notification"
PATH = re.compile(r"/modules/kdeconnect/devices/([^/]+)(?:/notifications)?$")
STATE = os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "notifyd-kdeconnect.json")
KEPT = 30 * 86400  # seconds; as long as notifyd's journal
PAUSE = 10  # seconds before what failed is tried again
# What notifyd refuses whenever it is asked.
FOR_GOOD = {f"{ROUTER}.Error.{name}" for name in ("InvalidEvent", "InvalidTopic", "TooLarge", "AccessDenied")}


def cut(text: str, size: int) -> str:
    """So many bytes at most, without what no message on the bus may hold: NUL, surrogates and characters for internal use."""
    text = "".join("\ufffd" if one == "\0" or "\ud800" <= one <= "\udfff" or "\ufdd0" <= one <= "\ufdef" or
                   ord(one) & 0xFFFE == 0xFFFE else one for one in text[:size])
    return text.encode()[:size].decode(errors="ignore")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


class Phones:
    def __init__(self, bus: dbus.SessionBus) -> None:
        self.bus = bus
        proxy = bus.get_object(ROUTER, "/org/notifyd/Router1", follow_name_owner_changes=True)
        self.router = dbus.Interface(proxy, ROUTER)
        # What was told, by device and by the phone's own name of the notification: digest of the text, name and id of the event,
        # and when. What has gone from the phone while notifyd could not be told keeps "gone".
        self.told: dict[str, dict] = self.load()
        # Which of them stands where at KDE Connect, whose numbers are those of one connection of a phone.
        self.paths: dict[str, str] = {}
        self.retry = 0
        for signal, handler in {"notificationPosted": self.posted, "notificationUpdated": self.posted,
                                "notificationRemoved": self.removed, "allNotificationsRemoved": self.cleared}.items():
            bus.add_signal_receiver(handler, signal, LIST, path_keyword="path", sender_keyword="sender")
        bus.add_signal_receiver(self.reachable, "reachableChanged", DEVICES, path_keyword="path")
        bus.add_signal_receiver(self.resolved, "Resolved", ROUTER, ROUTER)
        for name in NAMES:
            bus.watch_name_owner(name, lambda owner: self.owner_changed())

    # What was told

    def load(self) -> dict[str, dict]:
        try:
            with open(STATE) as file:
                told = json.load(file)
            return {key: one for key, one in told.items() if one["when"] > time.time() - KEPT and len(one["name"]) == 2}
        except (OSError, ValueError, AttributeError, TypeError, KeyError):
            return {}

    def save(self) -> None:
        try:
            os.makedirs(os.path.dirname(STATE), exist_ok=True)
            with open(STATE + ".new", "w") as file:
                json.dump(self.told, file)
            os.replace(STATE + ".new", STATE)
        except OSError as error:
            print(f"{STATE}: {error.strerror}", file=sys.stderr, flush=True)

    # KDE Connect

    def object(self, path: str, interface: str) -> dbus.Interface:
        name = next((name for name in NAMES if self.bus.name_has_owner(name)), NAMES[0])
        return dbus.Interface(self.bus.get_object(name, path, introspect=False), interface)

    def owner_changed(self) -> None:
        self.paths.clear()
        if any(self.bus.name_has_owner(name) for name in NAMES):
            self.catch_up()

    def reachable(self, is_reachable: bool, path: str) -> None:
        if not is_reachable:
            self.paths = {one: key for one, key in self.paths.items() if not one.startswith(path + "/")}

    def catch_up(self) -> bool:
        """Reports what is on the phones already, and what could not be told before."""
        self.retry = 0
        for key in [key for key, one in self.told.items() if one.get("gone")]:
            self.dismissed(key)
        try:
            daemon = self.object("/modules/kdeconnect", "org.kde.kdeconnect.daemon")
            for device in daemon.devices(True, True):
                path = f"/modules/kdeconnect/devices/{device}/notifications"
                for number in self.object(path, LIST).activeNotifications():
                    self.posted(number, path, None)
        except dbus.DBusException as error:
            print(f"KDE Connect: {error}", file=sys.stderr, flush=True)
        return GLib.SOURCE_REMOVE

    def is_kde_connect(self, sender: str | None) -> bool:
        owners = [self.bus.get_name_owner(name) for name in NAMES if self.bus.name_has_owner(name)]
        return sender is None or sender in owners

    def posted(self, number: str, path: str, sender: str | None) -> None:
        """``sender``: who has said so just now; None if it was found."""
        match = PATH.match(path)
        if not match or not self.is_kde_connect(sender):
            return
        place = f"{path}/{number}"
        try:
            known = self.object(place, "org.freedesktop.DBus.Properties").GetAll(ONE)
            device = self.object(path.rsplit("/", 1)[0], "org.freedesktop.DBus.Properties").Get(DEVICES, "name")
        except dbus.DBusException:
            return  # it is gone already
        app, title = str(known.get("appName", "")), str(known.get("title", ""))
        text = str(known.get("text", "")) or str(known.get("ticker", ""))
        key = f"{match[1]}/{known.get('internalId', number)}"
        # The phone may use one name for several texts, each of which is news.
        words = digest(f"{app}\0{title}\0{text}")
        told = self.told.get(key)
        # The same words again are news if the notification was gone meanwhile. KDE Connect gives another number then, and also
        # when the phone connects again; but what was on the phone before is "silent".
        is_repeat = sender is None or known.get("silent") or self.paths.get(place) == key
        self.paths = {one: kept for one, kept in self.paths.items() if kept != key} | {place: key}
        if not (told and told["digest"] == words and is_repeat and not told.get("gone")):
            if told and not self.dismissed(key):  # the one before it is gone from the phone
                return
            if known.get("silent"):
                return  # it was there before the phone connected
            when = time.time()
            name = [f"kdeconnect:{cut(match[1], 200)}", f"{digest(key)}/{words}/{when:.3f}"]
            # It is kept before it is told: another attempt then has the same name, and is not a second event.
            self.told[key] = {"digest": words, "name": name, "id": None, "when": when}
            self.save()
        if self.told[key]["id"] is None:
            self.publish(self.told[key], app, title, text, str(device))

    def publish(self, one: dict, app: str, title: str, text: str, device: str) -> None:
        source, event = one["name"]
        topic = "/phone/" + (cut(re.sub(r"[^\w.-]", "_", app), 64) or "unknown")
        options = {"source": source, "event-id": event, "via": "kdeconnect"}
        try:
            one["id"] = int(self.router.Publish(
                topic, cut(title or app, 1000), cut(text, 8000), {"device": cut(device, 1000), "app": cut(app, 1000)},
                dbus.Dictionary(options, signature="sv"), signature="sssa{sv}a{sv}"))
        except dbus.DBusException as error:
            if not self.is_for_good(error):
                return
            one["id"] = 0  # no event has it
        self.save()

    def removed(self, number: str, path: str, sender: str | None) -> None:
        if self.is_kde_connect(sender) and (key := self.paths.pop(f"{path}/{number}", None)):
            self.dismissed(key)

    def cleared(self, path: str, sender: str | None) -> None:
        for place in [place for place in self.paths if place.startswith(path + "/")]:
            self.removed(place.rsplit("/", 1)[1], path, sender)

    # notifyd

    def is_for_good(self, error: dbus.DBusException) -> bool:
        """Whether notifyd will refuse it again. If not, all that could not be told is tried again in a while."""
        print(f"notifyd: {error.get_dbus_message()}", file=sys.stderr, flush=True)
        if error.get_dbus_name() in FOR_GOOD:
            return True
        self.retry = self.retry or GLib.timeout_add_seconds(PAUSE, self.catch_up)
        return False

    def dismissed(self, key: str) -> bool:
        """The notification has gone from the phone. Returns whether notifyd knows it."""
        one = self.told.get(key)
        try:
            if one and one["id"] != 0:
                self.router.ClaimNamed(*one["name"], {"device": "phone", "dismissed": True, "via": "kdeconnect"},
                                       signature="ssa{sv}")
        except dbus.DBusException as error:
            if not self.is_for_good(error):
                one["gone"] = True
                self.save()
                return False
        if self.told.pop(key, None):
            self.save()
        return True

    def resolved(self, topic: str, id: int, outcome: str, details: dict) -> None:
        if outcome not in ("claimed", "retracted", "dismissed"):
            return
        for place, key in list(self.paths.items()):
            if self.told.get(key, {}).get("id") == id:
                try:
                    if self.object(place, "org.freedesktop.DBus.Properties").Get(ONE, "dismissable"):
                        self.object(place, ONE).dismiss()
                except dbus.DBusException:
                    pass  # it is gone already


if len(sys.argv) > 1:
    sys.exit(__doc__)
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
phones = Phones(dbus.SessionBus())
print("ready", flush=True)
GLib.MainLoop().run()

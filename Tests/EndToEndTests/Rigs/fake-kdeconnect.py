"""A stand-in for KDE Connect with one phone: the D-Bus objects that examples/python/kdeconnect.py uses.

org.notifyd.Test.Phone at /phone controls it: Post, Remove, Dismissed and Reconnect, after which the phone says again what is on it, silently
and with other numbers, as KDE Connect does.
"""

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

DEVICE = "/modules/kdeconnect/devices/abc"
LIST = "org.kde.kdeconnect.device.notifications"


class Notification(dbus.service.Object):
    def __init__(self, phone: "Phone", number: str, values: dict) -> None:
        super().__init__(phone.bus, f"{DEVICE}/notifications/{number}")
        self.phone, self.number, self.values = phone, number, values

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return self.values

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return self.values[name]

    @dbus.service.method(LIST + ".notification")
    def dismiss(self):
        self.phone.dismissed.append(self.number)
        GLib.idle_add(self.phone.Remove, self.number)


class Notifications(dbus.service.Object):
    def __init__(self, phone: "Phone") -> None:
        super().__init__(phone.bus, DEVICE + "/notifications")
        self.phone = phone

    @dbus.service.method(LIST, out_signature="as")
    def activeNotifications(self):
        return list(self.phone.shown)

    @dbus.service.signal(LIST, signature="s")
    def notificationPosted(self, number):
        pass

    @dbus.service.signal(LIST, signature="s")
    def notificationRemoved(self, number):
        pass


class Device(dbus.service.Object):
    @dbus.service.signal("org.kde.kdeconnect.device", signature="b")
    def reachableChanged(self, is_reachable):
        pass

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return "Mina's phone"


class Daemon(dbus.service.Object):
    @dbus.service.method("org.kde.kdeconnect.daemon", in_signature="bb", out_signature="as")
    def devices(self, reachable, paired):
        return ["abc"]


class Phone(dbus.service.Object):
    def __init__(self, bus: dbus.SessionBus) -> None:
        super().__init__(bus, "/phone")
        self.bus = bus
        self.shown: dict[str, Notification] = {}
        self.dismissed: list[str] = []
        self.list = Notifications(self)
        self.device = Device(bus, DEVICE)

    @dbus.service.method("org.notifyd.Test.Phone", in_signature="ssss")
    def Post(self, number, app, title, text):
        # busctl cannot send it.
        title = title.replace("for internal use", "\uffff")
        self.post(number, {"internalId": f"0|{app}|{'timer' if app == 'Clock' else number}", "appName": app, "title": title,
                           "text": text, "ticker": "", "dismissable": True, "silent": False, "replyId": ""})

    def post(self, number, values):
        if number in self.shown:
            self.shown[number].values = values
        else:
            self.shown[str(number)] = Notification(self, number, values)
        self.list.notificationPosted(number)

    @dbus.service.method("org.notifyd.Test.Phone", in_signature="s")
    def Remove(self, number):
        if str(number) in self.shown:
            self.shown.pop(str(number)).remove_from_connection()
            self.list.notificationRemoved(number)

    @dbus.service.method("org.notifyd.Test.Phone")
    def Reconnect(self):
        self.device.reachableChanged(False)
        before, self.shown = self.shown, {}
        for one in before.values():
            one.remove_from_connection()
        self.device.reachableChanged(True)
        for number, one in enumerate(before.values(), 1):
            self.post(str(number), one.values | {"silent": True})

    @dbus.service.method("org.notifyd.Test.Phone", out_signature="s")
    def Dismissed(self):
        return " ".join(self.dismissed)


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
session = dbus.SessionBus()
objects = [Phone(session), Daemon(session, "/modules/kdeconnect")]
name = dbus.service.BusName("org.kde.kdeconnect", session)
GLib.MainLoop().run()

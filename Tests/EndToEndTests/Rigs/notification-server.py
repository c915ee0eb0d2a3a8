"""A stand-in for a notification server:

    notification-server.py Plasma
behaves as Plasma's does in plasma-workspace: libnotificationmanager/server_p.cpp: it tells watchers of every
notification, refuses the same one twice within a second, and broadcasts its signals. With another name it has no watchers.

The interface org.notifyd.Test is for the rigs: Count, Dismiss and Press (of the newest), Titles (of what is up) and
Closed (titles that somebody has closed by a call).
"""
import sys
import time

import dbus
import dbus.service
from dbus.lowlevel import MethodCallMessage
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"


class Server(dbus.service.Object):
    def __init__(self, bus):
        self.bus = bus
        self.watchers = set()
        self.shown = {}
        self.closed = []
        self.last = None
        self.number = 0
        bus.add_signal_receiver(self.left, "NameOwnerChanged", "org.freedesktop.DBus", arg2="")
        super().__init__(dbus.service.BusName(NAME, bus, do_not_queue=True), PATH)

    def left(self, name, _old, _new):
        self.watchers.discard(name)

    def tell(self, member, signature, *arguments):
        for watcher in self.watchers:
            message = MethodCallMessage(watcher, "/NotificationWatcher", "org.kde.NotificationWatcher", member)
            message.append(*arguments, signature=signature)
            message.set_no_reply(True)
            self.bus.send_message(message)

    @dbus.service.method(NAME, "susssasa{sv}i", "u")
    def Notify(self, app, replaces, icon, title, body, actions, hints, timeout):
        text = (app, title, body, list(actions))
        if sys.argv[1] == "Plasma" and self.last and self.last[0] == text and time.monotonic() - self.last[1] < 1:
            raise dbus.exceptions.DBusException(
                "Created too many similar notifications in quick succession",
                name=NAME + ".Error.ExcessNotificationGeneration")
        self.last = (text, time.monotonic())
        if replaces:
            number = replaces
        else:
            self.number += 1
            number = self.number
        self.shown[number] = str(title)
        self.tell("Notify", "ususssasa{sv}i", number, app, replaces, icon, title, body, actions, hints, timeout)
        if timeout > 0:
            GLib.timeout_add(timeout, self.close, number, 1)
        return number

    def close(self, number, reason):
        if self.shown.pop(number, None) is not None:
            self.NotificationClosed(number, reason)
        return False

    @dbus.service.method(NAME, "u")
    def CloseNotification(self, number):
        self.tell("CloseNotification", "u", number)
        if number in self.shown:
            self.closed.append(self.shown[number])
        self.close(number, 3)

    @dbus.service.method(NAME, out_signature="as")
    def GetCapabilities(self):
        return ["body", "body-markup", "actions", "persistence", "inhibitions"]

    @dbus.service.method(NAME, out_signature="ssss")
    def GetServerInformation(self):
        return sys.argv[1], "notifyd", "1", "1.2"

    @dbus.service.signal(NAME, "uu")
    def NotificationClosed(self, number, reason):
        pass

    @dbus.service.signal(NAME, "us")
    def ActionInvoked(self, number, action):
        pass

    @dbus.service.method("org.kde.NotificationManager", sender_keyword="sender")
    def RegisterWatcher(self, sender):
        self.watchers.add(sender)

    @dbus.service.method("org.kde.NotificationManager", sender_keyword="sender")
    def UnRegisterWatcher(self, sender):
        self.watchers.discard(sender)

    @dbus.service.method("org.kde.NotificationManager", "us")
    def InvokeAction(self, number, action):
        self.ActionInvoked(number, action)

    @dbus.service.method("org.notifyd.Test", out_signature="as")
    def Titles(self):
        return list(self.shown.values())

    @dbus.service.method("org.notifyd.Test", out_signature="as")
    def Closed(self):
        return self.closed

    @dbus.service.method("org.notifyd.Test", out_signature="u")
    def Count(self):
        return len(self.shown)

    @dbus.service.method("org.notifyd.Test", out_signature="u")
    def Dismiss(self):
        self.close(max(self.shown), 2)
        return len(self.shown)

    @dbus.service.method("org.notifyd.Test", out_signature="u")
    def Press(self):
        number = max(self.shown)
        self.ActionInvoked(number, "default")
        self.close(number, 2)
        return len(self.shown)


DBusGMainLoop(set_as_default=True)
server = Server(dbus.SessionBus())
GLib.MainLoop().run()

#!/usr/bin/python3
"""What somebody would write in an afternoon instead of notifyd: it keeps each message in SQLite, announces it and answers.

router.py DATABASE. It decides nothing: there are no claims, no windows and no banners."""
import sqlite3, sys
import dbus, dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.notifyd.Router1"


class Router(dbus.service.Object):
    @dbus.service.method(NAME, "sss", "t")
    def Send(self, topic, title, body):
        row = database.execute("INSERT INTO event(topic, title, body) VALUES (?, ?, ?)", (str(topic), str(title), str(body))).lastrowid
        database.commit()
        self.Event(topic, row, title, body)
        return row

    @dbus.service.signal(NAME, "stss")
    def Event(self, topic, row, title, body):
        pass


database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = FULL")
database.execute("CREATE TABLE IF NOT EXISTS event(id INTEGER PRIMARY KEY, topic TEXT, title TEXT, body TEXT)")
bus = dbus.SessionBus(mainloop=DBusGMainLoop())
router = Router(dbus.service.BusName(NAME, bus), "/org/notifyd/Router1")
GLib.MainLoop().run()

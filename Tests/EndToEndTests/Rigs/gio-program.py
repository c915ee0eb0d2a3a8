"""A program of GTK that shows one notification, as GLib shows it on this desktop, and takes it back when its standard input ends.

    gio-program.py APPLICATION TITLE
"""
import sys

from gi.repository import Gio, GLib

app = Gio.Application(application_id=sys.argv[1])


def activate(_app):
    app.hold()
    app.send_notification("letter", Gio.Notification.new(sys.argv[2]))
    GLib.io_add_watch(sys.stdin, GLib.IO_HUP, end)


def end(_source, _condition):
    app.withdraw_notification("letter")
    app.get_dbus_connection().flush_sync()
    app.release()
    return False


app.connect("activate", activate)
app.run()

"""A program that shows one notification with libnotify, and says what becomes of it, a line for each.

    libnotify-program.py TITLE [BODY]
It says shown, action KEY, closed REASON. It updates the notification when a line comes on its standard input, with
that line as the title, and closes it at an empty one.
"""
import sys

import gi

gi.require_version("Notify", "0.7")
from gi.repository import GLib, Notify

Notify.init("Letters")
loop = GLib.MainLoop()
note = Notify.Notification.new(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None, "mail-unread")


def on_action(_note, key):
    print("action", key, flush=True)


def on_closed(_note):
    print("closed", note.get_closed_reason(), flush=True)
    loop.quit()


def on_line(source, _condition):
    line = source.readline().strip()
    if line:
        note.update(line, None, "mail-unread")
        note.show()
    else:
        note.close()
        GLib.idle_add(loop.quit)
        return False
    return True


note.add_action("default", "Open", on_action)
note.add_action("reply", "Reply", on_action)
note.connect("closed", on_closed)
note.set_timeout(0)
note.show()
print("shown", flush=True)
GLib.io_add_watch(sys.stdin, GLib.IO_IN, on_line)
loop.run()

#!/usr/bin/python3
"""A window: focus-window.py APP TITLE. Each line of standard input is a new title, but "minimise" and "show"."""

import sys

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import GLib, Gtk  # noqa: E402

GLib.set_prgname(sys.argv[1])
Gtk.init()
window = Gtk.Window(title=sys.argv[2], default_width=200, default_height=100)
window.present()


def read(_file, _condition):
    line = sys.stdin.readline()
    if not line:
        return False
    word = line.rstrip("\n")
    if word == "minimise":
        window.minimize()
    elif word == "show":
        window.unminimize()
        window.present()
    else:
        window.set_title(word)
    return True


GLib.io_add_watch(0, GLib.IO_IN, read)
GLib.MainLoop().run()

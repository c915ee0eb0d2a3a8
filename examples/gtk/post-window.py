#!/usr/bin/python3
"""A window that shows a post, and therefore needs no banners about it (GTK 4).

    post-window.py ID                       post-window.py 27

It holds a screen open on /post/ID and tells notifyd whether it is in front, merely visible, or minimised. What is
published there appears in the window, and as a banner only while the window is minimised.
Needs the Debian packages python3-gi and gir1.2-gtk-4.0.
"""

import sys

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Gtk", "4.0")
from gi.repository import Gdk, Gio, GLib, Gtk, Pango  # noqa: E402

ROUTER, PATH = "org.notifyd.Router1", "/org/notifyd/Router1"

STYLE = """
.post { padding: 18px 24px; }
.comment { padding: 12px 24px; }
.new { background: alpha(@theme_selected_bg_color, 0.15); }
"""


class Screen:
    """A screen on a topic, which is opened again whenever notifyd comes back: it lives as long as the daemon does.

    Nothing here waits: a window must not stand still because of what happens on the bus.
    """

    def __init__(self, topic, on_event):
        self.topic, self.state, self.id = topic, "visible", None
        self.bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        # The topic is the first argument of the signal: so nothing else even reaches this process.
        self.bus.signal_subscribe(ROUTER, ROUTER, "Event", PATH, topic, Gio.DBusSignalFlags.NONE,
                                  lambda *arguments: on_event(*arguments[5].unpack()[:6]))
        Gio.bus_watch_name_on_connection(self.bus, ROUTER, Gio.BusNameWatcherFlags.AUTO_START,
                                         self.on_appeared, self.on_vanished)

    def on_appeared(self, bus, name, owner):
        self.call("OpenScreen", GLib.Variant("(sa{sv})", (self.topic, self.options())), self.on_opened)

    def on_vanished(self, bus, name):
        self.id = None

    def on_opened(self, reply):
        self.id, = reply
        self.update()  # the window may have changed meanwhile

    def show(self, state):
        """Says what the user sees of it: "focused", "visible" or "hidden"."""
        if state != self.state:
            self.state = state
            self.update()

    def update(self):
        if self.id is not None:
            self.call("UpdateScreen", GLib.Variant("(ta{sv})", (self.id, self.options())), lambda reply: None)

    def options(self):
        return {"state": GLib.Variant("s", self.state)}

    def call(self, method, arguments, on_reply):
        def finish(bus, result):
            try:
                on_reply(bus.call_finish(result).unpack())
            except GLib.Error as error:
                print(f"{method}: {error.message}", file=sys.stderr)

        self.bus.call(ROUTER, PATH, ROUTER, method, arguments, None, Gio.DBusCallFlags.NONE, -1, None, finish)


class PostWindow(Gtk.ApplicationWindow):
    def __init__(self, application, post):
        super().__init__(application=application, title=f"Post {post}", default_width=440, default_height=330)
        self.set_titlebar(Gtk.HeaderBar())
        self.comments = []
        self.list = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        self.list.append(self.paragraph("Along the river before breakfast", "Mina · 8.2 km", "post", "title-2"))
        self.list.append(Gtk.Separator())
        self.set_child(Gtk.ScrolledWindow(child=self.list))
        self.screen = Screen(f"/post/{post}", self.on_event)
        self.connect("notify::is-active", self.on_state)
        self.connect("realize", lambda window: window.get_surface().connect("notify::state", self.on_state))

    def on_event(self, topic, id, title, body, fields, info):
        self.comments.append(self.paragraph(title, body, "comment", "heading", "new"))
        self.list.append(self.comments[-1])
        if len(self.comments) > 500:
            self.list.remove(self.comments.pop(0))

    def on_state(self, *_):
        surface = self.get_surface()
        if surface and surface.get_state() & Gdk.ToplevelState.MINIMIZED:
            self.screen.show("hidden")
        else:
            self.screen.show("focused" if self.is_active() else "visible")

    @staticmethod
    def paragraph(title, body, kind, weight, *more):
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4, css_classes=[kind, *more])
        for text, classes in (title, [weight]), (body, []):
            label = Gtk.Label(label=text, xalign=0, wrap=True, css_classes=classes)
            label.set_wrap_mode(Pango.WrapMode.WORD_CHAR)
            box.append(label)
        return box


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)

    def on_activate(application):
        style = Gtk.CssProvider()
        style.load_from_data(STYLE.encode())
        Gtk.StyleContext.add_provider_for_display(Gdk.Display.get_default(), style,
                                                  Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)
        PostWindow(application, sys.argv[1]).present()

    # Each window is a program of its own here; one with an id would hand a second start to the first.
    application = Gtk.Application(flags=Gio.ApplicationFlags.NON_UNIQUE)
    application.connect("activate", on_activate)
    application.run()


main()

#!/usr/bin/python3
"""Handles pushes in place of the banner, and gives them back when it cannot (dbus-python).

    forward.py TOPIC COMMAND …              forward.py /run ./send-to-my-watch

The command gets the title and the body of each push at or below the topic as its last two arguments, or those of its
banner if it has no title. Anybody may have written them: end a command that has options with “--”. The claim is
provisional: while the command runs there is no banner; if it fails, or this program dies, the banner appears after all.
Needs the Debian packages python3-dbus and python3-gi.
"""

import subprocess
import sys

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

ROUTER = "org.notifyd.Router1"
WITHIN = 30_000  # milliseconds the command may take before the banner appears


def main():
    topic, *command = sys.argv[1:]
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SessionBus()
    # By its well-known name: after a restart notifyd announces undecided events again.
    proxy = bus.get_object(ROUTER, "/org/notifyd/Router1", follow_name_owner_changes=True)
    router = dbus.Interface(proxy, ROUTER)

    def on_event(topic, id, title, body, fields, info):
        if not info.get("window"):
            return  # no banner is pending, so there is nothing to claim
        if router.ClaimProvisionally(id, dbus.UInt32(WITHIN)) != "suppressed":
            return  # another program has claimed it, or the banner is shown
        try:
            if not title:  # its banner has a text of its own, by the route of the topic
                title, body = router.Render(id)
            subprocess.run([*command, title, body], check=True, timeout=WITHIN / 1000)
        except (OSError, subprocess.SubprocessError, dbus.DBusException) as error:
            print(f"{topic}: {error}", file=sys.stderr)
            router.Release(id)
        else:
            router.Complete(id)

    def on_message(bus, message):
        if message.is_signal(ROUTER, "Event") and message.get_signature().startswith("stssa{sv}a{sv}"):
            try:
                on_event(*message.get_args_list()[:6])
            except dbus.DBusException as error:
                # The banner appears, unless notifyd is gone; the next one announces the event again.
                print(error, file=sys.stderr)

    # The bus itself filters, because the topic is the first argument of the signal: one match for the topic, and one
    # for everything below it. (add_signal_receiver() would take only object paths, which a topic need not be.)
    # The topic / is every topic.
    for match in ("",) if topic == "/" else (f",arg0='{topic}'", f",arg0path='{topic}/'"):
        bus.add_match_string(f"type='signal',sender='{ROUTER}',interface='{ROUTER}',member='Event'{match}")
    bus.add_message_filter(on_message)
    print("ready", flush=True)
    GLib.MainLoop().run()


if len(sys.argv) < 3:
    sys.exit(__doc__)
main()

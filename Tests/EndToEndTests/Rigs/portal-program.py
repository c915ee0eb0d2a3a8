#!/usr/bin/python3
"""A program that notifies by the portal, as sandboxed ones do: portal-program.py < COMMANDS

A command is a line of JSON: {"remove": ID} or {"add": ID} with any of "title", "body", "priority", "default-action",
"target", "picture": true, and "buttons": [[LABEL, ACTION], …].

What it hears is a line of JSON too:
{"pressed": [ID, ACTION, [PARAMETER, …]]}, or {"activated": [ACTION, [PARAMETER, …]]}
for actions whose names begin with "app.".
"""
import json
import struct
import sys
import zlib

from gi.repository import Gio, GLib

PORTAL = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Notification")
APPLICATION = """<node><interface name="org.freedesktop.Application">
<method name="Activate"><arg type="a{sv}" direction="in"/></method>
<method name="ActivateAction"><arg type="s" direction="in"/><arg type="av" direction="in"/>
<arg type="a{sv}" direction="in"/></method>
</interface></node>"""
NAME = "org.example.Chat"


def part(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


# A red square.
PICTURE = (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0))
           + part(b"IDAT", zlib.compress((b"\0" + b"\xff\0\0" * 16) * 16)) + part(b"IEND", b""))

bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def say(**message):
    print(json.dumps(message), flush=True)


def pressed(_bus, _sender, _path, _interface, _signal, parameters):
    say(pressed=parameters.unpack())


def application(_bus, _sender, _path, _interface, method, parameters, invocation):
    if method == "ActivateAction":
        say(activated=parameters.unpack()[:2])
    invocation.return_value(None)


def obey(channel, _condition):
    line = channel.readline()
    if not line:
        loop.quit()
        return False
    command = json.loads(line)
    if "remove" in command:
        bus.call_sync(*PORTAL, "RemoveNotification", GLib.Variant("(s)", (command["remove"],)), None, 0, -1)
        return True
    notification = {key: GLib.Variant("s", command[key])
                    for key in ("title", "body", "priority", "default-action") if key in command}
    if "target" in command:
        notification["default-action-target"] = GLib.Variant("s", command["target"])
    notification["icon"] = GLib.Variant("(sv)", (
        ("bytes", GLib.Variant("ay", PICTURE)) if "picture" in command else
        ("themed", GLib.Variant("as", ["mail-unread"]))))
    notification["buttons"] = GLib.Variant("aa{sv}", [
        {"label": GLib.Variant("s", label), "action": GLib.Variant("s", action)}
        for label, action in command.get("buttons", [])])
    bus.call_sync(*PORTAL, "AddNotification", GLib.Variant("(sa{sv})", (command["add"], notification)), None, 0, -1)
    return True


bus.signal_subscribe(PORTAL[0], PORTAL[2], "ActionInvoked", PORTAL[1], None, 0, pressed)
bus.register_object("/org/example/Chat", Gio.DBusNodeInfo.new_for_xml(APPLICATION).interfaces[0], application)
Gio.bus_own_name_on_connection(bus, NAME, 0, None, None)
loop = GLib.MainLoop()
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, obey)
loop.run()

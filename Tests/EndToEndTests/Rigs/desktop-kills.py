"""The part of desktop-kills.sh that sends, claims and kills: desktop-kills.py PRODUCTS KILLS FOLDER."""
import os
import random
import signal
import subprocess
import sys
import time

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib

PRODUCTS, KILLS, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
EACH = 100
NO_START = Gio.DBusCallFlags.NO_AUTO_START
PROPERTIES = "org.freedesktop.DBus.Properties"
# Notifications under way when notifyd-desktop or the server is killed: they may be lost. While notifyd is away, none is.
UNDER_WAY = 5
PATIENCE = float(os.environ.get("RIG_PATIENCE", "30"))
SERVER = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
ROUTER = ("org.notifyd.Router1", "/org/notifyd/Router1")
BRIDGE = ("org.notifyd.Bridge.desktop", "/org/notifyd/Bridge1")
COMMANDS = {
    "notifyd": [PRODUCTS + "/notifyd"],
    "notifyd-desktop": [PRODUCTS + "/notifyd-desktop"],
    "server": ["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "notification-server.py"), "plain"],
}

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
dice = random.Random(int(os.environ.get("NOTIFYD_SEED", "17")))
processes, sent, claimed, heard, downs, closed, number = {}, {}, set(), set(), [], [], 0


def call(target, member, arguments=None, interface=None):
    answer = bus.call_sync(*target, interface or target[0], member, arguments, None, NO_START, 5000, None)
    return answer.unpack()


def eventually(what, condition, detail=None):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if condition():
                return
        except GLib.Error:
            pass
        spin(0.02)
    sys.exit(f"not in time: {what} {detail() if detail else ''}")


def spin(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        while GLib.MainContext.default().iteration(False):
            pass
        time.sleep(0.001)


def is_up(name):
    if name == "notifyd":
        return call(ROUTER, "Unread", GLib.Variant("(s)", ("/",))) is not None
    if name == "server":
        return call(SERVER, "GetCapabilities") is not None
    state = call(BRIDGE, "Get", GLib.Variant("(ss)", ("org.notifyd.Bridge1", "State")), PROPERTIES)
    return state[0] == "connected" and call(BRIDGE, "Get", None, "org.notifyd.Desktop1")[0]["server"] == "plain"


def start(name):
    log = open(f"{FOLDER}/{name}.log", "a")
    processes[name] = subprocess.Popen(COMMANDS[name], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    eventually(name + " starts", lambda: is_up(name))


def titles_closed():
    return call(SERVER, "Closed", None, "org.notifyd.Test")[0]


def kill(name):
    if name == "server":
        closed.extend(titles_closed())
    if name != "notifyd":
        last = f"number {number}"
        eventually("an event", lambda: last in heard or last in [row[2] for row in events()])
    begin = time.monotonic()
    for _ in range(UNDER_WAY):
        send()
        spin(0.001)
    processes[name].send_signal(signal.SIGKILL)
    processes[name].wait()
    start(name)
    # Another server is another one to observe.
    eventually("notifyd-desktop sees it", lambda: is_up("notifyd-desktop"))
    if name != "notifyd":
        downs.append((begin, time.monotonic()))


def claims(title):
    return int(title.split()[1]) % 2 == 0


def on_event(_bus, _sender, _path, _interface, _signal, arguments):
    _topic, event, title, *_ = arguments.unpack()
    heard.add(title)
    # Some are claimed in their window, some when they are shown.
    if title.startswith("number ") and claims(title):
        GLib.timeout_add(dice.choice([1, 120]), claim, event, title)


def claim(event, title):
    bus.call(*ROUTER, ROUTER[0], "Claim", GLib.Variant("(t)", (event,)), None, NO_START, 5000, None, None)
    claimed.add(title)
    return False


def send():
    global number
    number += 1
    title = f"number {number}"
    arguments = GLib.Variant("(susssasa{sv}i)", ("Sender", 0, "", title, "", [], {}, 0))
    sent[title] = time.monotonic()
    # With a callback, so that the server answers.
    bus.call(*SERVER, SERVER[0], "Notify", arguments, None, NO_START, 5000, None, lambda *_: None)


def events():
    found, after = [], 0
    while True:
        page = call(ROUTER, "History", GLib.Variant("(stu)", ("/", after, 1000)))[0]
        if not page:
            return found
        found += [row for row in page if row[2].startswith("number ")]
        after = page[-1][0]


bus.signal_subscribe(None, ROUTER[0], "Event", ROUTER[1], None, Gio.DBusSignalFlags.NONE, on_event)
for name in ("notifyd", "server", "notifyd-desktop"):
    start(name)
for index in range(KILLS):
    moment = dice.randrange(EACH)
    for place in range(EACH):
        send()
        spin(0.004)
        if place == moment:
            kill(["notifyd", "notifyd-desktop", "server"][index % 3])
spin(0.5)


def is_over():
    open_events = 0
    for event, _topic, title, _body, _time, outcome, _fields in events():
        if claims(title) and outcome in ("", "shown"):
            claim(event, title)
            open_events += 1
        elif outcome == "":
            open_events += 1
    return open_events == 0


eventually("every event is decided", is_over)
found = [row[2] for row in events()]


def left_up():
    return [title for title in call(SERVER, "Titles", None, "org.notifyd.Test")[0] if claims(title) and title in found]


eventually("what was claimed is closed", lambda: not left_up(), left_up)
closed.extend(titles_closed())
faults = []
doubled = {title for title in found if found.count(title) > 1} if len(set(found)) < len(found) else set()
if doubled:
    faults.append(f"{len(doubled)} are several events: {sorted(doubled)[:5]}")
missing = [title for title, moment in sent.items()
           if title not in set(found) and not any(begin <= moment <= end for begin, end in downs)]
if missing:
    faults.append(f"{len(missing)} are missing: {missing[:5]}")
wrong = [title for title in closed if not claims(title)]
if wrong:
    faults.append(f"{len(wrong)} were closed and not claimed: {wrong[:5]}")
for name, process in processes.items():
    if process.poll() is not None:
        faults.append(f"{name} has ended with {process.returncode}")
    process.kill()
if faults:
    sys.exit("\n".join(faults))
left_out = sum(any(begin <= moment <= end for begin, end in downs) for moment in sent.values())
print(f"{len(sent)} notifications over {KILLS} kills: {len(found)} events, {len(closed)} banners closed, "
      f"{left_out} sent while something was down")

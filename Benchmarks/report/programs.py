#!/usr/bin/env python3
"""What notifyd-desktop costs programs that show something by themselves: docs/benchmarks.md. Some eight minutes.

Without a release build, that for development is measured, and the page says so."""
import os, random, sys, time
import gi
import load
gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib
if not os.path.exists(load.BUILT):
    load.BUILT = os.path.join(load.ROOT, ".build", "debug")
import page, screens

COUNT, PAUSE, SECONDS, IDLE, ROUNDS = 2000, 10, 20, 30, 8
RIGS = os.path.join(page.ROOT, "Tests", "EndToEndTests", "Rigs")
SERVER = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications")
ROUTER = ("org.notifyd.Router1", "/org/notifyd/Router1", "org.notifyd.Router1")
BRIDGE = ("org.notifyd.Bridge.desktop", "/org/notifyd/Bridge1", "org.freedesktop.DBus.Properties")
# What a monitor has to see, whatever it makes of it.
MONITORED = [f"type='method_call',interface='{SERVER[2]}'", f"type='method_return',sender='{SERVER[0]}'"]


class Program:
    """Shows notifications, and claims their events; `seen` has the moments by what was seen of which title or number."""

    def __init__(self, session):
        self.session, self.seen, self.titles = session, {}, {}
        self.bus, self.number, self.to_claim = self.connect(), 0, False
        self.bus.signal_subscribe(None, ROUTER[2], "Event", ROUTER[1], None, Gio.DBusSignalFlags.NONE, self.on_event)

    def connect(self):
        flags = Gio.DBusConnectionFlags
        return Gio.DBusConnection.new_for_address_sync(
            self.session.environment["DBUS_SESSION_BUS_ADDRESS"], flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION, None, None)

    def call(self, target, member, signature, *values):
        arguments = GLib.Variant(signature, values) if signature else None
        return self.bus.call_sync(*target, member, arguments, None, Gio.DBusCallFlags.NO_AUTO_START, 5000, None).unpack()

    def watch(self):
        """A monitor that does nothing but look: the floor."""
        self.monitor = self.connect()
        self.monitor.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Monitoring", "BecomeMonitor",
                               GLib.Variant("(asu)", (MONITORED[:1], 0)), None, Gio.DBusCallFlags.NONE, 5000, None)
        self.monitor.add_filter(self.on_message)

    def on_message(self, _connection, message, _incoming):
        now, body = time.monotonic(), message.get_body()
        if message.get_member() == "Notify":
            self.seen["floor", body.get_child_value(3).get_string()] = now
        elif message.get_member() == "CloseNotification":
            self.seen["closed", body.get_child_value(0).get_uint32()] = now
        # A monitor may not answer, so that nobody gets it.
        return None

    def on_event(self, _bus, _sender, _path, _interface, _signal, arguments):
        self.seen["event", arguments.get_child_value(2).get_string()] = now = time.monotonic()
        if self.to_claim:
            event, title = arguments.get_child_value(1).get_uint64(), arguments.get_child_value(2).get_string()
            self.seen["claim", title] = now
            self.bus.call(*ROUTER, "Claim", GLib.Variant("(t)", (event,)), None, Gio.DBusCallFlags.NONE, 5000, None, None)

    def show(self):
        self.number += 1
        title = f"number {self.number}"

        def on_answer(bus, result):
            self.seen["answer", title] = time.monotonic()
            self.titles[bus.call_finish(result).unpack()[0]] = title
        arguments = GLib.Variant("(susssasa{sv}i)", ("Bench", 0, "", title, "Some text", [], {}, 0))
        self.seen["notify", title] = time.monotonic()
        self.bus.call(*SERVER, "Notify", arguments, None, Gio.DBusCallFlags.NONE, 5000, None, on_answer)
        return title

    def play(self, count, last, pause=PAUSE):
        """Shows as many, and returns their titles when `last` was seen of each. The pauses are not the same, or each would come when
        the window of an earlier one ends."""
        loop, titles, deadline = GLib.MainLoop(), [], time.monotonic() + count * pause / 1000 + 30

        def tick():
            if len(titles) < count:
                titles.append(self.show())
            elif all((last, title) in self.seen for title in titles):
                return loop.quit()
            elif time.monotonic() > deadline:
                sys.exit(f"{sum((last, title) not in self.seen for title in titles)} have no “{last}”.")
            GLib.timeout_add(random.randint(pause // 2, pause * 3 // 2), tick)
        tick()
        loop.run()
        return titles

    def times(self, titles, start, end):
        """Milliseconds, the shortest first."""
        return sorted(1000 * (self.seen[end, title] - self.seen[start, title]) for title in titles)


def part(times, percent):
    return times[len(times) * percent // 100]


def main():
    busy = page.busy()
    session = screens.Session()
    try:
        session.start([sys.executable, os.path.join(RIGS, "notification-server.py"), "plain"])
        program = Program(session)
        session.until("the notification server is there",
                      lambda: program.call(("org.freedesktop.DBus", "/", "org.freedesktop.DBus"), "NameHasOwner", "(s)", SERVER[0])[0])

        def start():
            process = session.start([load.BUILT + "/notifyd-desktop"])

            def is_connected():
                try:
                    return program.call(BRIDGE, "Get", "(ss)", "org.notifyd.Bridge1", "State")[0] == "connected"
                except GLib.Error:
                    return False
            session.until("notifyd-desktop is there", is_connected)
            return process
        found, answers = {}, {"nobody": [], "a bare monitor": [], "notifyd-desktop": []}
        # In turns: the machine is not the same all the time.
        for turn in range(ROUNDS):
            for name, times in answers.items():
                page.say(f"Notify, seen by {name} ({turn + 1} of {ROUNDS}) …")
                process = {"nobody": lambda: None, "notifyd-desktop": start,
                           "a bare monitor": lambda: session.start(["dbus-monitor", "--session", "--binary", *MONITORED])}[name]()
                program.play(20, "answer")
                times += program.times(program.play(COUNT // ROUNDS, "answer", 4 * PAUSE), "notify", "answer")
                if process:
                    process.terminate()
                    process.wait()
        for times in answers.values():
            times.sort()
        for percent in (50, 99):
            found[f"answer{percent}"] = part(answers["nobody"], percent)
            for name in ("a bare monitor", "notifyd-desktop"):
                found[name, percent] = part(answers[name], percent) / found[f"answer{percent}"]
        page.say("nothing happens …")
        process = screens.Process(start())
        # What it gives back after its start, it gives back by then.
        time.sleep(15)
        before = process.waits()
        time.sleep(IDLE)
        found["waits"], found["idle"] = (process.waits() - before) / IDLE, process.memory()
        page.say("Notify → Event …")
        program.watch()
        titles = program.play(COUNT, "event")
        floor, times = program.times(titles, "notify", "floor"), program.times(titles, "notify", "event")
        for percent in (50, 99):
            found[f"floor{percent}"] = part(floor, percent)
            found[f"event{percent}"] = part(times, percent) - part(floor, percent)
        page.say("a hundred a second …")
        used, begin = process.processor(), time.monotonic()
        program.play(100 * SECONDS, "event")
        found["percent"] = 100 * (process.processor() - used) / (time.monotonic() - begin)
        page.say("Claim → CloseNotification …")
        program.to_claim = True
        titles = program.play(COUNT, "claim")
        numbers = {title: number for number, title in program.titles.items()}
        session.until("all are closed", lambda: all(("closed", numbers[title]) in program.seen for title in titles))
        times = sorted(1000 * (program.seen["closed", numbers[title]] - program.seen["claim", title]) for title in titles)
        found["close50"], found["close"] = (part(times, percent) for percent in (50, 99))
        found["memory"] = process.memory()
    finally:
        session.stop()
    # It takes less than a core by itself.
    busy = max(busy, os.getloadavg()[1] - 1)
    rows = [[title, page.number(found[name], digits),
             "" if must is None else f"{must:,}", "" if must is None else "yes" if round(found[name], digits) <= must else "**missed**"]
            for name, title, must, digits in GOALS]
    head = page.machine() + ("" if load.BUILT.endswith("release") else " · **built for development**")
    text = head + "\n\n" + page.disturbance(busy) + "\n" + page.table(["figure", "measured", "must", "reached"], rows)
    if "--quick" in sys.argv[1:]:
        return print(text)
    page.put(page.PAGE, "bench-desktop", text)


GOALS = [("event99", "`Notify` of a program → `Event`, p99, ms over the floor", 5, 2), ("event50", "p50", None, 2),
         ("floor99", "the floor, p99, ms", None, 2), ("floor50", "p50", None, 2),
         ("close", "`Claim` → `CloseNotification`, p99, ms", 5, 2), ("close50", "p50", None, 2),
         (("notifyd-desktop", 99), "`Notify` until its answer, p99, against without notifyd-desktop", 1.05, 2),
         (("notifyd-desktop", 50), "p50", None, 2), (("a bare monitor", 99), "the same with a bare monitor instead, p99", None, 2),
         (("a bare monitor", 50), "p50", None, 2), ("answer99", "without either, p99, ms", None, 2), ("answer50", "p50", None, 2),
         ("idle", "memory while nothing happens, MiB", 12, 1), ("waits", "wake-ups a second while nothing happens", 0, 2),
         ("percent", "processor at 100 notifications a second, % of a core", 3, 2), ("memory", "memory afterwards, MiB", None, 1)]


if __name__ == "__main__":
    main()

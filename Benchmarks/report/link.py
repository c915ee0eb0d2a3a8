#!/usr/bin/env python3
"""What the link between devices costs: docs/benchmarks.md and docs/link-latency.svg. Some ten minutes, with --quick less."""
import json, os, re, subprocess, sys
import page, plot
from load import BUILT, ENVIRONMENT

DISTANCES = [0, 20, 150]


def measure(quick):
    command = [os.path.join(BUILT, "notifyload"), "link", "--daemon", os.path.join(BUILT, "notifyd"), "--bridge", os.path.join(BUILT, "notifyd-mqtt")]
    done = subprocess.run(command + (["--quick"] if quick else []), env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, timeout=1500)
    if done.returncode:
        sys.exit("notifyload has failed.")
    return Figures(json.loads(done.stdout))


class Figures(dict):
    """What was measured; what was not is nothing, and so is all that follows from it."""

    def __missing__(self, name):
        return None


def difference(one, other, factor=1000):
    return None if one is None or other is None else (one - other) / factor


def over(found, name, floor, percent):
    """Milliseconds above the floor."""
    return difference(found[f"{name}_p{percent}"], found[f"{floor}_p{percent}"])


def goals(found):
    """Figure, measured, must, aim, digits, whether more is better."""
    for name, title in (("event", "event: published on one device → signal on another"), ("claim", "claim on one device → `CloseNotification` on another")):
        for percent, must, aim in ((50, 2, 1), (99, 6, 3)):
            yield f"{title}, p{percent} at 100 a second, ms over the floor", over(found, f"{name}_0", "floor_0", percent), must, aim, 2, False
        for delay in DISTANCES[1:]:
            yield (f"the same with {delay} ms each way, p99 at {found[f'rate_{delay}'] or 0:.0f} a second, ms over the added {2 * delay} ms", 
                   difference(found[f"{name}_{delay}_p99"], 2000 * delay), 10, 5, 2, False)
    yield "events a second from one device to two others, sustained, sealed", found["sustained_per_s"], 1000, 3000, 0, True
    yield f"{found['outage_events'] or 100_000:,.0f} events after an outage: all there, once, in order, s", found["outage_s"], 120, 40, 1, False
    yield "the same: the most memory of a bridge, MiB", found["outage_peak_mib"], 48, 32, 1, False
    yield "idle: memory of a bridge, MiB", found["idle_mib"], 24, 12, 1, False
    yield "idle: wake-ups in a minute beside the keepalive", beside_keepalive(found), 0, 0, 0, False
    yield f"banners of {found['claimed_in_time'] or 0:,.0f} events that another device had claimed in time", found["banners"], 0, 0, 0, False


def beside_keepalive(found):
    """A ping a minute wakes the thread of the connection twice: for its timer, and for the answer."""
    return None if found["idle_waits"] is None else max(0, found["idle_waits"] * 60 / found["idle_s"] - 2)


def troubles(found):
    for name, words in (("sustained_missing", "events were never heard"), ("sustained_disordered", "events came out of order"),
                        ("outage_missing", "events were missing after the outage"), ("outage_disordered", "events came out of order after the outage"),
                        ("claimed_late", "claims came too late"), ("claims_failed", "claims failed"),
                        *((f"failed_{delay}", f"calls failed at {delay} ms") for delay in DISTANCES)):
        if found.get(name):
            yield f"- {found[name]:,.0f} {words}."


def verdict(measured, must, aim, more):
    def reaches(goal):
        return measured >= goal if more else measured <= goal
    if measured is None:
        return "not measured"
    return "aim" if reaches(aim) else "must" if reaches(must) else "**missed**"


def tables(found):
    rows = [[title, page.number(measured, digits), f"{must:,}", f"{aim:,}", verdict(measured, must, aim, more)]
            for title, measured, must, aim, digits, more in goals(found)]
    latencies = [[f"{delay} ms"] + [page.number(difference(found[f"{name}_{delay}_p{percent}"], 0), 2)
                                    for name in ("floor", "event", "claim") for percent in (50, 99)] for delay in DISTANCES]
    costs = [
        ("processor time of the bridge that says, µs an event", found["sustained_out_us"]),
        ("of one that hears, µs an event", found["sustained_in_us"]),
        ("after the outage: start of the bridge until it is connected, s", found["outage_connected_s"]),
        ("an event on its way out, bytes of TCP", found["event_out_bytes"]),
        ("coming back to the one who said it", found["event_back_bytes"]),
        ("on its way in, on each other device", found["event_in_bytes"]),
        ("and the acknowledgement", found["event_ack_bytes"]),
        ("sent in an idle minute, bytes", found["idle_sent_bytes"] and found["idle_sent_bytes"] * 60 / found["idle_s"]),
        ("received", found["idle_received_bytes"] and found["idle_received_bytes"] * 60 / found["idle_s"]),
    ]
    return [page.table(["figure", "measured", "must", "aim", "reached"], rows),
            page.table(["each way", "floor ms: p50", "p99", "event ms: p50", "p99", "claim ms: p50", "p99"], latencies),
            page.table(["", ""], [[name, page.number(value, 1 if name.endswith(", s") else 0)] for name, value in costs])]


def broker():
    text = subprocess.run(["/usr/sbin/mosquitto", "-h"], capture_output=True, text=True).stdout
    found = re.search(r"mosquitto version (\S+)", text)
    return f" · mosquitto {found[1] if found else '?'}"


def draw(found):
    # Nothing at all has no logarithm: it stands where 4 would.
    xs = [(delay or 4, f"{delay} ms") for delay in DISTANCES]

    def series(name):
        return [[found[f"{kind}_{delay}_p{percent}"] for delay in DISTANCES] for kind in (name, "floor") for percent in (50, 99)]
    picture = plot.picture(
        "What the link adds over distance",
        [("event, delay each way", xs), ("claim, delay each way", xs)],
        [(plot.time, ["link p50", "link p99", "floor p50", "floor p99"], [series("event"), series("claim")])])
    with open(os.path.join(page.ROOT, "docs", "link-latency.svg"), "w", encoding="utf-8") as file:
        file.write(picture)


def main():
    quick = "--quick" in sys.argv[1:]
    load = page.busy()
    found = measure(quick)
    head = page.machine() + broker() + "\n\n" + page.disturbance(load)
    text = "\n".join([head, *tables(found), *troubles(found)])
    if quick:
        return print(text)
    page.put(page.PAGE, "bench-link", text)
    draw(found)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What an event costs as the work grows: docs/benchmarks.md and docs/scale.svg. Some minutes."""
import os
import page, plot
from load import point

# What grows, its title, and how far: the last but for the journal's is the daemon's limit, with room for the load itself.
AXES = [
    ("subscribers", "subscribers", [1, 10, 100, 1000]),
    ("screens", "open screens", [10, 100, 1000, 10_000]),
    ("open", "undecided events", [1, 100, 1000, 10_000, 99_900]),
    ("history", "events in the journal", [0, 1000, 10_000, 100_000, 1_000_000]),
    ("payload", "payload, bytes", [40, 400, 4000, 16_000, 64_000]),
]
# Field, title, digits.
COLUMNS = [
    ("events_per_s", "events/s", 0), ("daemon_us", "CPU µs/event: daemon", 0), ("bus_us", "bus", 0), ("load_us", "load", 0),
    ("load_share", "load, cores", 2), ("rate", "at events/s", 0), ("signal_p50", "signal µs: p50", 0), ("signal_p99", "p99", 0),
    ("claim_p50", "claim µs: p50", 0), ("claim_p99", "p99", 0), ("answer_ms", "start ms", 0), ("rss_mib", "MiB", 1),
]
TIMES = [("daemon_us", "daemon's CPU per event"), ("signal_p50", "publish to signal, p50"),
         ("signal_p99", "publish to signal, p99"), ("claim_p50", "claim, p50")]


def troubles(axis, value, found):
    return [f"{axis} {value:,}: {found[name]:.0f} {words}" for name, words in
            (("failed", "calls failed"), ("late", "claims came too late"), ("unfinished", "events were never claimed"))
            if found.get(name)]


def main():
    load, found = page.busy(), {}
    for axis, _, values in AXES:
        for value in values:
            found[axis, value] = point(**{axis: value})
    lines, notes = [page.machine() + "\n", page.disturbance(load)], []
    for axis, title, values in AXES:
        rows = []
        for value in values:
            figures = found[axis, value] or {}
            notes += troubles(axis, value, figures)
            rows.append([f"{value:,}"] + [page.number(figures.get(field), digits) for field, _, digits in COLUMNS])
        lines.append(page.table([title, *(column for _, column, _ in COLUMNS)], rows))
    page.put(page.PAGE, "bench-scale", "\n".join(lines + [f"- {note}" for note in notes]))
    draw(found)


def draw(found):
    def series(fields):
        return [[[(found[axis, value] or {}).get(field) for value in values] for field in fields] for axis, _, values in AXES]
    picture = plot.picture(
        "What an event costs as the work grows",
        # Nothing at all has no logarithm: it stands where 100 would.
        [(title, [(value or 100, plot.count(value)) for value in values]) for _, title, values in AXES],
        [(plot.time, [name for _, name in TIMES], series([field for field, _ in TIMES])),
         (plot.count, ["events a second"], series(["events_per_s"]))])
    with open(os.path.join(page.ROOT, "docs", "scale.svg"), "w", encoding="utf-8") as file:
        file.write(picture)


if __name__ == "__main__":
    main()

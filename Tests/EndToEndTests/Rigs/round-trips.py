"""Times calls of Send over one connection and prints the median and the worst in microseconds.

    round-trips.py COUNT TOPIC-PREFIX [BYTES]

BYTES is how long each body is.
"""

import statistics
import sys
import time

from gi.repository import Gio, GLib

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
body = "x" * int(sys.argv[3]) if len(sys.argv) > 3 else "one of many"
times = []
for number in range(int(sys.argv[1])):
    arguments = GLib.Variant("(sss)", (f"{sys.argv[2]}/{number}", "Timed", body))
    begun = time.monotonic_ns()
    bus.call_sync("org.notifyd.Router1", "/org/notifyd/Router1", "org.notifyd.Router1", "Send",
                  arguments, None, Gio.DBusCallFlags.NONE, 10_000, None)
    times.append((time.monotonic_ns() - begun) // 1000)
print(int(statistics.median(times)), max(times))

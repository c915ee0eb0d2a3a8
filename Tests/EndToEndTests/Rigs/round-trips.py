"""Times calls of Send over one connection and prints the median and the worst in microseconds.

    round-trips.py COUNT TOPIC-PREFIX
"""

import statistics
import sys
import time

from gi.repository import Gio, GLib

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
times = []
for number in range(int(sys.argv[1])):
    arguments = GLib.Variant("(sss)", (f"{sys.argv[2]}/{number}", "Timed", "one of many"))
    begun = time.monotonic_ns()
    bus.call_sync("org.notifyd.Router1", "/org/notifyd/Router1", "org.notifyd.Router1", "Send",
                  arguments, None, Gio.DBusCallFlags.NONE, 10_000, None)
    times.append((time.monotonic_ns() - begun) // 1000)
print(int(statistics.median(times)), max(times))

"""The documents that figures are written into, and the machine that they belong to."""
import datetime, os, platform, re, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PAGE = os.path.join(ROOT, "docs", "benchmarks.md")
README = os.path.join(ROOT, "README.md")


def say(text):
    print(text, file=sys.stderr, flush=True)


def put(path, name, text):
    """Replaces what stands between the two markers of a name; everything else is written by hand."""
    begin, end = f"<!-- {name}: written by make {name} -->\n", f"<!-- end of {name} -->"
    old = open(path, encoding="utf-8").read()
    if begin not in old or end not in old:
        sys.exit(f"{path} lacks the lines {begin.strip()} and {end}, between which the figures go.")
    head, rest = old.split(begin, 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + begin + "\n" + text.strip() + "\n\n" + end + rest.split(end, 1)[1])
    say(f"written: {os.path.relpath(path, ROOT)}")


def table(head, rows, alignment="--:"):
    lines = [head, ["---"] + [alignment] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value, digits=0):
    """Three figures that mean something, and no more."""
    if value is None:
        return "–"
    if value and not digits and abs(value) < 100:
        digits = 2 if abs(value) < 10 else 1
    return f"{value:,.{digits}f}"


def processor():
    found = re.search(r"^model name\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)
    return found[1].strip() if found else platform.machine()


def processors():
    return f"{processor()}, {len(os.sched_getaffinity(0))} cores"


def machine():
    bus = subprocess.run(["dbus-daemon", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"Daemon (\S+)", bus)
    return (f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC · {processors()} · "
            f"Linux {platform.release()} · dbus-daemon {version[1] if version else '?'}")


def busy():
    """How many processors others keep busy, over two seconds. The load average would count the build before, see proc_stat(5)."""
    def idle():
        with open("/proc/stat", encoding="utf-8") as file:
            fields = file.readline().split()
        return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")

    begin, before = time.monotonic(), idle()
    time.sleep(2)
    seconds = time.monotonic() - begin
    return max(0, os.cpu_count() - (idle() - before) / seconds)


def disturbance(load):
    """Says how much else there was to do: the result of busy(), or more if others came."""
    if load < 0.5:
        return ""
    return f"**The machine was not quiet** (others kept {load:.1f} processors busy): take the figures for rough ones.\n"

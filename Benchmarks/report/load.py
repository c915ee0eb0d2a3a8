"""Points, each measured by notifyload with a daemon and a bus of its own."""
import json, os, subprocess
from page import ROOT, say

BUILT = os.environ.get("BUILT", os.path.join(ROOT, ".build", "release"))
# On a disk, for what is committed there should cost what it costs a user.
ENVIRONMENT = dict(os.environ, TMPDIR=os.environ.get("TMPDIR", "/var/tmp"))


def point(seconds=1, **around):
    """The figures of one point, or None, with a word why on standard error."""
    options = [text for name, value in around.items() for text in ("--" + name, str(value))]
    command = [os.path.join(BUILT, "notifyload"), "--daemon", os.path.join(BUILT, "notifyd"), "--seconds", str(seconds)]
    what = " ".join(options) or "nothing around"
    try:
        done = subprocess.run(command + options, env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        say(f"{what}: not done after 240 s")
        return None
    if done.stderr:
        say(f"{what}: {done.stderr.strip()}")
    if done.returncode:
        return None
    found = json.loads(done.stdout)
    say(f"{what}: {found['events_per_s']:.0f} events/s, {found['daemon_us']:.1f} us each")
    return found

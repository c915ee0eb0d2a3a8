"""What comes in from a server of ntfy, and every fault on the way: parts of ntfy.py."""

import asyncio
import os
import signal
import ssl
import subprocess
import time

from ntfy_rig import FOLDER, Failed, eventually, expect, say
from ntfy_stand_in import Server


async def messages_in(rig):
    server = rig.server
    await rig.start_bridge()
    await curl(
        f"http://localhost:{server.port}/a", "Who is there?", "Title: Unauthorized aççess", "Tags: warning,cam-3",
        "Priority: urgent", "Click: https://example.com", "Icon: https://e/i.png",
        'Actions: [{"action":"view","label":"Look","url":"https://example.com/cam"}]')
    rig.expected["Who is there?"] += 1
    found = (await eventually("the message is an event", lambda: rig.event("Who is there?"))).event
    expect("title", found.title, "⚠️ Unauthorized aççess")
    expect("topic", found.topic, "/ntfy/a")
    expect("fields", {key: found.fields[key] for key in ("ntfy-topic", "tags", "click", "icon-url", "priority")}, {
        "ntfy-topic": "a", "tags": ["warning", "cam-3"], "click": "https://example.com", "icon-url": "https://e/i.png",
        "priority": 5})
    decision = await rig.client.explain(found.id)
    expect("source", decision["source"], f"ntfy:localhost:{server.port}/a")
    expect("via", decision["via"], f"ntfy:localhost:{server.port}")
    say("a message of curl is an event with all that it has")

    process = await asyncio.create_subprocess_exec(
        "apprise", "-t", "from apprise", "-b", "apprised", f"ntfy://tk_secret@localhost:{server.port}/b?auth=token",
        stdout=subprocess.DEVNULL)
    if await process.wait() != 0:
        # That of Debian 12 knows no tokens.
        token, server.token = server.token, ""
        process = await asyncio.create_subprocess_exec(
            "apprise", "-t", "from apprise", "-b", "apprised", f"ntfy://localhost:{server.port}/b",
            stdout=subprocess.DEVNULL)
        expect("apprise", await process.wait(), 0)
        server.token = token
    rig.expected["apprised"] += 1
    found = (await eventually("the message of apprise is an event", lambda: rig.event("apprised"))).event
    expect("title", found.title, "from apprise")
    say("a message of apprise is an event")

    await rig.end(rig.bridge, signal.SIGTERM)
    for topic in "abab":
        rig.publish(topic)
    await rig.start_bridge()
    await rig.all_came("published while the bridge was away")


async def curl(url, text, *headers):
    options = [word for header in headers for word in ("-H", header)]
    process = await asyncio.create_subprocess_exec(
        "curl", "-sf", "-o", "/dev/null", "-H", "Authorization: Bearer tk_secret", *options, "-d", text, url)
    expect("curl", await process.wait(), 0)


async def clears_in(rig):
    server = rig.server
    message = rig.publish()
    text = f"message {rig.number}"
    await eventually("a banner is shown", lambda: rig.outcome(text, ["shown"]))
    server.clear("a", message["id"])
    await eventually("it is taken off", lambda: rig.outcome(text, ["dismissed"]))
    say("a clear there takes the banner off here")

    message = rig.publish()
    text = f"message {rig.number}"
    await eventually("a banner is shown", lambda: rig.outcome(text, ["shown"]))
    server.delete("a", message["id"])
    await eventually("it is withdrawn", lambda: rig.outcome(text, ["withdrawn"]))
    say("a delete there withdraws it here")

    server.held = []
    first, second = rig.publish(), rig.publish(sequence_id="door-1")
    numbers = rig.number - 1, rig.number
    server.clear("a", first["id"])
    server.clear("a", second["sequence_id"])
    # Now the clears are first.
    server.release()
    for number in numbers:
        await eventually("it is claimed", lambda: rig.outcome(f"message {number}", ["claimed"]))
    say("what is cleared before it comes gets no banner")

    rig.publish(sequence_id="progress")
    rig.publish(sequence_id="progress")
    text = f"message {rig.number}"
    await eventually("the update replaces", lambda: rig.outcome(f"message {rig.number - 1}", ["replaced"]))
    await eventually("a banner is shown", lambda: rig.outcome(text, ["shown"]))
    server.clear("a", "progress")
    await eventually("it is taken off", lambda: rig.outcome(text, ["dismissed"]))
    say("an update takes the place of what it updates, and one clear clears all")

    rig.number += 1
    rig.expected[f"message {rig.number}"] += 1
    hidden = server.message("message", "a", message=f"message {rig.number}")
    server.cache.append(hidden)
    server.say(server.line(server.message("poll_request", "a", poll_id=hidden["id"])))
    await eventually("it is asked for", lambda: [one for one in server.requests if one.query.get("id") == hidden["id"]])
    await rig.all_came("a message that has to be fetched")


async def faults(rig):
    server = rig.server

    async def during(fact, restart=False, before=None, **changes):
        """Messages before, while and after something is wrong: from the first connection on, or while it listens."""
        rig.publish("a")
        if restart:
            # It does not wait long after its first failure.
            await rig.end(rig.bridge)
            server.faults.update(changes)
            await rig.start_bridge(wait=False)
        server.faults.update(changes)
        if before:
            before()
        for topic in "ab":
            rig.publish(topic)
            await asyncio.sleep(0.05)
        rig.publish("b")
        await rig.all_came(fact)

    def strange_lines():
        for line in (b"rubbish\n", b"{}\n", b"[" * 5000 + b"\n", b'{"x":"' + b"y" * 300000 + b'"}\n', b"\xff\xfe\n"):
            server.say(line)

    def rubbish():
        for _ in range(25):
            server.say(os.urandom(20).replace(b"\n", b"") + b"\n")

    await during("the connection breaks", before=server.drop)
    await server.stop()
    await during_away(rig)
    await during("doubled by the server", double=2)
    server.held = []
    await during_held(rig)
    await during("the server fails (500)", restart=True, status=1)
    server.refusal = (429, ["Retry-After: 1"])
    await during("too many requests (429)", restart=True, status=1)
    await during("a page instead of messages", restart=True, page=1)
    await during("a redirect", restart=True, redirect=1)
    await during("the server is silent", restart=True, silent=1)
    server.cut = 7
    await during("lines in pieces")
    server.cut = 0
    await during("rubbish and huge lines between messages", before=strange_lines)
    expect("dead letters", await rig.property("DeadLetters"), 5)
    say("5 dead letters are counted")
    # It is in what is replayed, so that it is said again after each start.
    huge = server.publish("a", "z" * 100000)
    await eventually("it is a dead letter", lambda: dead_letters(rig, 6))
    await rig.restart_bridge()
    await during("a huge line that is said again", before=server.drop)
    expect("dead letters", await rig.property("DeadLetters"), 6)
    server.cache.remove(huge)
    await during("nothing but rubbish", before=rubbish)
    await during("nothing but empty lines", before=lambda: server.say(b"\n" * (1 << 20)))
    # Who connects between the two hears it from neither: only the sweep does.
    server.cache_delay = 0.5
    server.clock = -3600
    await rig.restart_bridge()
    await during("messages that the stream has missed, and a clock that is set back", unheard=4)
    server.cache_delay = 0
    # What is older than the first connection is not taken, also after a message with a time that has not come.
    for clock, text in ((-86400, "from yesterday"), (86400, "from tomorrow")):
        server.clock = clock
        server.faults["unheard"] = 1 if clock < 0 else 0
        server.publish("a", text)
    server.clock = 0
    rig.expected["from tomorrow"] += 1
    await rig.all_came("a time that has not come")
    await rig.restart_bridge()
    await during("messages that are older than the first connection", unheard=4)


async def dead_letters(rig, count):
    return await rig.property("DeadLetters") == count


async def lost_state(rig):
    """The state is damaged, and removed, while messages come."""
    folder = os.environ["XDG_STATE_HOME"] + "/notifyd/ntfy"
    for way in ("damaged", "removed"):
        await rig.end(rig.bridge, signal.SIGTERM)
        rig.publish()
        for name in os.listdir(folder):
            if not name.startswith("state.db") or "damaged" in name:
                continue
            if way == "removed" or name != "state.db":
                os.remove(f"{folder}/{name}")
            else:
                with open(f"{folder}/{name}", "wb") as file:
                    file.write(b"damaged" * 1000)
        await rig.start_bridge()
        rig.publish()
        await rig.all_came(f"the state is {way} while messages come")
        await eventually("it is told", lambda: rig.problem(["the state of the bridge is lost"]))
        # What is published before its new beginning does not go out.
        async def goes_out(text=f"out after it is {way}"):
            await rig.client.publish("/post/11", "", text)
            await asyncio.sleep(0.5)
            return text in rig.told("phone")
        await eventually("events go out", goes_out)
    await rig.restart_bridge()
    expect("problems", await rig.property("Problems"), [])
    say("that the state is lost is told until the next start")


async def during_away(rig):
    rig.publish()
    await eventually("it waits", lambda: rig.state("waiting"))
    rig.publish()
    await rig.server.start()
    rig.publish()
    await rig.all_came("the server is away")


async def during_held(rig):
    for _ in range(3):
        rig.publish()
    rig.server.release()
    await rig.all_came("out of order")


async def kills(rig):
    server = rig.server
    for step in ("before-call", "after-answer", "before-write", "after-write"):
        for hit in (1, 2) if step == "after-answer" else (1,):
            await rig.end(rig.bridge)
            rig.publish()
            await rig.start_bridge(wait=False, NOTIFYD_FAILPOINT=f"{step}:{hit}")
            # The cursor is written after the sweep.
            until = time.monotonic() + 10
            while rig.bridge.poll() is None and time.monotonic() < until:
                rig.publish()
                # The disk is written when nothing has come for a moment.
                await asyncio.sleep(0.5 if "write" in step else 0.1)
            expect(f"killed {step}", rig.bridge.poll(), -signal.SIGKILL)
            await rig.start_bridge()
    await rig.all_came("the bridge is killed at each step")
    # Many are under way then.
    for step in ("before-call:20", "after-answer:9", "after-answer:25", "after-write:2"):
        await rig.end(rig.bridge)
        for _ in range(20):
            rig.publish("a")
            rig.publish("b", sequence_id=f"sequence-{rig.number % 4}")
        await rig.start_bridge(wait=False, NOTIFYD_FAILPOINT=step)
        await eventually("it is killed", lambda: rig.bridge.poll() is not None)
        expect(f"killed {step}", rig.bridge.poll(), -signal.SIGKILL)
        await rig.start_bridge()
    await rig.all_came("the bridge is killed while many messages are under way")
    rig.publish()
    await rig.end(rig.daemon)
    for _ in range(5):
        rig.publish()
    server.clear("a", rig.publish()["id"])
    text = f"message {rig.number}"
    await rig.start_daemon()
    rig.publish()
    await rig.all_came("notifyd is killed")
    await eventually("it is claimed", lambda: rig.outcome(text, ["claimed"]))
    say("what was cleared meanwhile is claimed")


async def rude(rig):
    """A second server, which says more than anybody can want to hear."""
    server = Server(burst=100000)
    server.endless = "lines"
    await server.start()
    rig.configure(more=f"""
        [[server]]
        url = "http://localhost:{server.port}"
        [[server.map]]
        subscribe = ["c"]
        topic = "/c"
        """)
    await rig.restart_bridge()
    await asyncio.sleep(0.3)
    for topic in "aabb":
        rig.publish(topic)
    await rig.all_came("another server says lines as fast as they are taken")
    await asyncio.sleep(0.5)
    before = work(rig.bridge), time.monotonic()
    await asyncio.sleep(1)
    share = (work(rig.bridge) - before[0]) / (time.monotonic() - before[1])
    if share > 0.5:
        raise Failed(f"reading takes {share:.0%} of a core")
    say("it is read at a pace that costs little")

    # What was said so far is still read from the network, line by line.
    server.endless = "line"
    await rig.restart_bridge()
    await eventually("it is given up", lambda: rig.problem(["has no end"]))
    for topic in "ab":
        rig.publish(topic)
    await rig.all_came("another server says a line without an end")
    await server.stop()
    rig.configure()
    await rig.restart_bridge()


def work(process):
    """The seconds of processor time that a process has used."""
    with open(f"/proc/{process.pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def forbidden(rig):
    server = rig.server
    server.forbidden = {"b", "locked"}
    await rig.restart_bridge()
    rig.publish("a")
    await rig.all_came("some topics may not be read")
    for words in (['read "b"', "others are received"], ['read "locked"', "not heard here"]):
        if not await rig.problem(words):
            raise Failed(f"the problems are {await rig.property('Problems')!r}")
    say("the topics that may not be read are named")
    server.readonly = {"phone"}
    await rig.client.publish("/post/9", "", "refused")
    await rig.client.publish("/run/9", "", "not refused")
    await eventually("it is named", lambda: rig.problem(['write "phone"']))
    await eventually("the other goes out", lambda: "not refused" in rig.told("later"))
    expect("what was refused", rig.told("phone").count("refused"), 0)
    say("a topic that may not be written is named, and does not keep the others from being sent")
    server.forbidden, server.readonly = set(), set()
    await rig.restart_bridge()
    await eventually("it goes out when it may", lambda: "refused" in rig.told("phone"))
    rig.publish("b")
    await rig.all_came("they may be read again")
    expect("problems", await rig.property("Problems"), [])


async def denied(rig):
    rig.server.token = "tk_another"
    rig.server.drop()
    await eventually("it has failed", lambda: rig.state("failed"))
    detail = await rig.property("Detail")
    if "does not let us in" not in detail:
        raise Failed(f"the detail is {detail!r}")
    rig.server.token = "tk_secret"
    say("a wrong token is told")


async def encrypted(rig):
    """Last, because it changes the configuration."""
    key, certificate = f"{FOLDER}/key.pem", f"{FOLDER}/certificate.pem"
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
        "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = Server()
    await server.start(ssl=context)

    async def restart(authorities):
        await rig.end(rig.bridge)
        with open(f"{FOLDER}/config/notifyd/ntfy.toml", "w") as file:
            file.write(f"""
                [[server]]
                url = "https://localhost:{server.port}"
                {authorities}
                [[server.map]]
                subscribe = ["a"]
                topic = "/encrypted"
                """)
        await rig.start_bridge(wait=False)

    await restart("")
    await eventually("it waits", lambda: rig.state("waiting"))
    if "secure connection" not in (detail := await rig.property("Detail")):
        raise Failed(f"the detail is {detail!r}")
    await restart(f'authorities = "{certificate}"')
    await eventually("it is connected", lambda: rig.state("connected"))
    server.publish("a", "over TLS")
    await eventually("the message is an event", lambda: rig.event("over TLS", "/encrypted"))
    await server.stop()
    say("a certificate is accepted if its authority is named")

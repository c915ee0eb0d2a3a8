"""What goes out to a server of ntfy, and what buttons do: parts of ntfy.py."""

import asyncio
import json
import os
import signal
import subprocess
import time

from ntfy_rig import FOLDER, PRODUCTS, eventually, expect, say
from ntfy_stand_in import Server


async def phone(number):
    """What notifyctl says of the phone."""
    process = await asyncio.create_subprocess_exec(
        f"{PRODUCTS}/notifyctl", "why", str(number), "--json=short", stdout=subprocess.PIPE)
    output, _ = await process.communicate()
    return [(one["place"].split("/")[-1], one["state"]) for one in json.loads(output)["phone"]]


async def messages_out(rig):
    server, client = rig.server, rig.client

    claimed = await client.publish("/post/1", "claimed", "claimed in time")
    await client.claim(claimed)
    number = await client.publish("/post/2", "New post", "by Jan", {"click": "https://example.com/2"}, urgency="critical")
    await eventually("the event is told", lambda: "by Jan" in rig.told("phone"))
    found = next(one for one in server.cache if one.get("message") == "by Jan")
    expect("message", {key: found.get(key) for key in ("title", "priority", "click")}, {
        "title": "New post", "priority": 5, "click": "https://example.com/2"})
    expect("what goes out", rig.told("phone"), ["by Jan"])
    # What was cleared there before is not said back.
    expect("clears", [one.path for one in server.requests if one.method in ("PUT", "DELETE")], [])
    say("what nobody has claimed in time goes out, and nothing else")
    expect("why says of what was sent", await phone(number), [("phone", "sent")])
    expect("why says of what was not", await phone(claimed), [])
    waits = await client.publish("/mail/1", "", "waits", source="mail", event_id="1")
    await eventually("it waits", lambda: rig.property("Backlog"))
    expect("why says of what waits", await phone(waits), [("locked", "waiting")])
    await client.claim(waits)
    say("why says whether the phone was told")

    await client.claim(number)
    await eventually("the claim is said", lambda: found["sequence_id"] in rig.told("phone", "message_clear"))
    expect("why says then", await phone(number), [("phone", "ended")])
    say("a claim here clears it there")

    number = await client.publish("/post/3", "", "to be read on the phone")
    await eventually("the event is told", lambda: rig.sequence("to be read on the phone"))
    server.clear("phone", rig.sequence("to be read on the phone"))
    await eventually("it is taken off", lambda: explained(rig, number, "dismissed"))
    expect("clears there", rig.told("phone", "message_clear").count(rig.sequence("to be read on the phone")), 1)
    say("a clear there takes the banner off here, and is not said back")

    number = await client.publish("/post/4", "", "to be taken back")
    await eventually("the event is told", lambda: rig.sequence("to be taken back"))
    await client._call("Withdraw", "t", (number,))
    await eventually("it is deleted", lambda: rig.sequence("to be taken back") in rig.told("phone", "message_delete"))
    say("what is withdrawn here is deleted there")

    rig.publish()
    text = f"message {rig.number}"
    found = await eventually("a message is an event", lambda: rig.event(text))
    await client.claim(found.event.id)
    await eventually("the claim is said", lambda: rig.told("a", "message_clear").count(found_id(rig, text)) == 1)
    server.readonly.add("b")
    for _ in range(2):
        rig.publish("b")
        text = f"message {rig.number}"
        await client.claim((await eventually("a message is an event", lambda: rig.event(text))).event.id)
    await client.publish("/post/5", "", "ö" * 4000)
    await eventually("the long one is told", lambda: [one for one in rig.told("phone") if one.endswith("…")])
    server.readonly.clear()
    expect("tries", len([one for one in server.requests if one.path.startswith("/b/") and one.path.endswith("/clear")]), 1)
    expect("state", await rig.property("State"), "connected")
    say("a claim is said where it may be, and tried once where it may not")

    await client.publish("/run/1", "", "nobody comes")
    number = await client.publish("/run/2", "", "somebody comes")
    await client.publish("/mail/1", "", "mail while somebody is there")
    await asyncio.sleep(0.7)
    await client.claim(number)
    await eventually("the event is told", lambda: "nobody comes" in rig.told("later"))
    expect("told later", rig.told("later"), ["nobody comes"])
    await login("AddSession", "ssusb", "c1", "seat0", str(os.getuid()), "somebody", "true")
    await login(
        "UpdateProperties", "sa{sv}", "org.freedesktop.login1.Session", "1", "LockedHint", "b", "true", path="/session/c1")
    await client.publish("/mail/2", "", "mail while nobody is there")
    await eventually("the event is told", lambda: rig.told("locked"))
    expect("told when nobody is there", rig.told("locked"), ["mail while nobody is there"])
    say("what nobody claims goes out later, or at once while the session is locked")


def found_id(rig, text):
    return next(one["id"] for one in rig.server.cache if one.get("message") == text)


async def explained(rig, number, outcome):
    return (await rig.client.explain(number)).get("outcome") == outcome


async def login(member, signature, *arguments, path=""):
    process = await asyncio.create_subprocess_exec(
        "busctl", "--address=" + os.environ["DBUS_SYSTEM_BUS_ADDRESS"], "call", "org.freedesktop.login1",
        "/org/freedesktop/login1" + path, "org.freedesktop.DBus.Mock", member, signature, *arguments,
        stdout=subprocess.DEVNULL)
    expect("logind", await process.wait(), 0)


async def full_disk(rig):
    def limit(size):
        subprocess.run(["prlimit", f"--pid={rig.bridge.pid}", f"--fsize={size}:unlimited"], check=True)

    limit(0)
    await rig.client.publish("/post/10", "", "while the disk is full")
    await eventually("it is told", lambda: rig.problem(["its state cannot be written"]))
    expect("what goes out", rig.told("phone").count("while the disk is full"), 0)
    limit("unlimited")
    await eventually("it goes out", lambda: "while the disk is full" in rig.told("phone"))
    await eventually("it is not told any more", lambda: no_problem(rig))
    say("a full disk is told, and waited for")

    rig.configure(more="""
        [[server.map]]
        subscribe = ["rubbish"]
        topic = "/rubbish"
        body = "{{#json.a}}{{json.b}}{{/json.a}}"
        """)
    await rig.restart_bridge()
    letters = await rig.property("DeadLetters")
    limit(0)
    # Its text becomes longer than any may be.
    rig.server.publish("rubbish", json.dumps({"a": [1] * 300, "b": "x" * 400}))
    await eventually("it is told", lambda: rig.problem(["the disk does not take dead letters yet"]))
    rig.publish("a")
    await rig.all_came("a message behind one that can never be taken, on a full disk")
    expect("dead letters", await rig.property("DeadLetters"), letters)
    await rig.restart_bridge()
    # The cursor has not passed it.
    await eventually("it is a dead letter", lambda: dead_letters(rig, letters + 1))
    await eventually("it is not told any more", lambda: no_problem(rig))
    rig.configure()
    await rig.restart_bridge()
    say("what can never be taken waits for the disk, and nothing waits for it")


async def dead_letters(rig, count):
    return await rig.property("DeadLetters") == count


async def no_problem(rig):
    return not await rig.property("Problems")


async def faults_out(rig):
    server, client = rig.server, rig.client
    count = 0

    async def during(fact, **changes):
        nonlocal count
        before = list(rig.told("phone"))
        await rig.restart_bridge()
        texts = []
        server.faults.update(changes)
        for _ in range(3):
            count += 1
            texts.append(f"event {count}")
            await client.publish("/post/6", "", texts[-1])
        await eventually(fact, lambda: set(texts) <= set(rig.told("phone")))
        expect(fact, sorted(rig.told("phone")), sorted(before + texts))
        say(f"{fact}: nothing lost, nothing doubled")

    server.refusal = (429, ["Retry-After: 1"])
    await during("too many requests (429) while it sends", status=1)
    server.refusal = (500, [])
    await during("the server fails (500) while it sends", status=1)
    await during("the answer is lost", unanswered=1)
    await during("a login page answers what is sent", login=3)
    await during("somebody else's JSON answers what is sent", portal=3)
    await during("nothing but 1xx answers what is sent", informational=1)
    await client.publish("/post/6", "", "to be claimed behind a login page")
    await eventually("the event is told", lambda: "to be claimed behind a login page" in rig.told("phone"))
    found = next(one for one in await rig.events("/post/6") if one.event.body == "to be claimed behind a login page")
    server.faults.update(login=3)
    await client.claim(found.event.id)
    await eventually("it is told", lambda: rig.problem(["something else than ntfy does", "text/html", "Welcome"]))
    sequence = rig.sequence("to be claimed behind a login page")
    await eventually("the claim is said", lambda: sequence in rig.told("phone", "message_clear"))
    await eventually("it is not told any more", lambda: no_problem(rig))
    say("a claim that a login page has answered is said again")
    for step in ("before-call", "after-answer", "before-write", "after-write"):
        for hit in (1, 3):
            await rig.end(rig.bridge)
            texts = []
            before = list(rig.told("phone"))
            for _ in range(2):
                count += 1
                texts.append(f"event {count}")
                await client.publish("/post/7", "", texts[-1])
            await rig.start_bridge(wait=False, NOTIFYD_FAILPOINT=f"{step}:{hit}")
            until = time.monotonic() + 2
            while rig.bridge.poll() is None and time.monotonic() < until:
                await asyncio.sleep(0.05)
            if rig.bridge.poll() is None:
                await rig.end(rig.bridge)
            await rig.start_bridge()
            await eventually("all are told", lambda: set(texts) <= set(rig.told("phone")))
            expect(f"killed {step}:{hit}", sorted(rig.told("phone")), sorted(before + texts))
    say("the bridge is killed at each step while it sends: nothing lost, nothing doubled")
    await rig.end(rig.bridge)
    number = await client.publish("/post/8", "", "claimed while the bridge was away")
    sequence = await client.publish("/post/8", "", "not claimed")
    await client.claim(number)
    await rig.end(rig.daemon)
    await rig.start_daemon()
    await rig.start_bridge()
    await eventually("the other is told", lambda: "not claimed" in rig.told("phone"))
    expect("claimed", rig.told("phone").count("claimed while the bridge was away"), 0)
    await rig.end(rig.daemon)
    await rig.start_daemon()
    await client.claim(sequence)
    await eventually("the claim is said", lambda: rig.sequence("not claimed") in rig.told("phone", "message_clear"))
    say("notifyd is killed: what was claimed is not told, and a claim is said")


async def opens_by_a_unit(rig, number):
    """What the service manager says of xdg-open decides whether an event is claimed."""
    for result in ("failed", "done"):
        manager = subprocess.Popen(
            ["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "service_manager.py"), result])
        try:
            await eventually("the service manager is there", lambda: rig.has_name("org.freedesktop.systemd1"))
            await rig.client.press(number, "ntfy-open")
            if result == "done":
                await eventually("what was opened is claimed", lambda: explained(rig, number, "retracted"))
                continue

            def is_told():
                with open(f"{FOLDER}/notifyd-ntfy.log") as file:
                    return "xdg-open has failed" in file.read()
            await eventually("the log says that xdg-open has failed", is_told)
            expect("outcome", (await rig.client.explain(number))["outcome"], "shown")
        finally:
            manager.kill()
            manager.wait()
    say("an event is claimed when xdg-open has succeeded, and not when it has failed")


async def copies(rig):
    """The service manager gets the text as the input of a program."""
    rig.publish(actions=[{"action": "copy", "label": "Copy code", "value": "123 456"}])
    text = f"message {rig.number}"
    number = (await eventually("a banner is shown", lambda: rig.outcome(text, ["shown"]))).event.id
    log = f"{FOLDER}/manager.log"
    manager = subprocess.Popen(
        ["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "service_manager.py"), "done"], stdout=open(log, "w"))
    try:
        await eventually("the service manager is there", lambda: rig.has_name("org.freedesktop.systemd1"))
        await rig.client.press(number, "ntfy-action-0")
        await eventually("what was copied is claimed", lambda: explained(rig, number, "retracted"))
        with open(log) as file:
            expect("what is copied", file.read(), "123 456\n")
    finally:
        manager.kill()
        manager.wait()
    say("a text is copied to the clipboard")


async def ends_of_requests(rig):
    """What the portal says at the end of its request decides whether an event is claimed."""
    ways = ("cancelled", "failed", "forged")
    rig.publish(click="https://example.com/early", actions=[
        {"action": "view", "label": way, "url": f"https://example.com/{way}"} for way in ways])
    text = f"message {rig.number}"
    number = (await eventually("a banner is shown", lambda: rig.outcome(text, ["shown"]))).event.id

    def told(words):
        with open(f"{FOLDER}/notifyd-ntfy.log") as file:
            return file.read().count(words)
    cancelled, failed = "the user has cancelled it", "The desktop portal could not open an address"
    for index, words in enumerate((cancelled, failed, cancelled)):
        before = told(words)
        await rig.client.press(number, f"ntfy-action-{index}")
        await eventually(f"the log says how {ways[index]} ends", lambda: told(words) > before)
        expect("outcome", (await rig.client.explain(number))["outcome"], "shown")
    await rig.client.press(number, "ntfy-open")
    await eventually("what was opened is claimed", lambda: explained(rig, number, "retracted"))
    say("what the portal has not opened is not claimed, whatever others say of it")


async def buttons(rig):
    server, client = rig.server, rig.client
    portal = subprocess.Popen(
        ["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "fake-portal.py")],
        stdout=open(f"{FOLDER}/portal.log", "w"))
    try:
        await eventually("the portal is there", lambda: rig.has_name("org.freedesktop.portal.Desktop"))
        url = f"http://localhost:{server.port}/hook"
        rig.publish(click="https://example.com/click", actions=[
            {"action": "view", "label": "Look", "url": "https://example.com/view"},
            {"action": "http", "label": "Do", "url": url, "method": "PUT", "headers": {"X-A": "b"}, "body": "done"},
            {"action": "view", "label": "Steal", "url": "file:///etc/passwd"}])
        # What it steals has no button at all.
        text = f"message {rig.number}"
        number = (await eventually("the message is an event", lambda: rig.event(text))).event.id
        # A button of an event that stays unread: each of a new event.
        for index, key in enumerate(("ntfy-open", "ntfy-action-0", "ntfy-action-1")):
            if index:
                rig.publish(**{key: value for key, value in found.items() if key in ("click", "actions")})
                text = f"message {rig.number}"
                number = (await eventually("the message is an event", lambda: rig.event(text))).event.id
            found = next(one for one in server.cache if one.get("message") == text)
            await client.press(number, key)
            if key == "ntfy-open":
                await eventually("what was opened is claimed", lambda: explained(rig, number, "claimed"))
        request = await eventually("the request is made", lambda: next((
            one for one in server.requests if one.path == "/hook"), None))
        expect("request", (request.method, request.body, request.headers.get("x-a")), ("PUT", b"done", "b"))
        expect("secret", request.headers.get("authorization"), None)

        def opened():
            with open(f"{FOLDER}/portal.log") as file:
                return file.read().split()
        await eventually("addresses are opened", lambda: len(opened()) >= 2)
        expect("opened", opened(), ["https://example.com/click", "https://example.com/view"])
        # The server wants a login for it.
        expect("a request that was refused", (await client.explain(number)).get("outcome") in (None, "", "shown"), True)
        say("buttons open addresses and make requests, and no button opens a file")
        await ends_of_requests(rig)
    finally:
        portal.kill()
        portal.wait()

    server.publish("a", "to be opened", click="https://example.com/nobody")
    rig.expected["to be opened"] += 1
    number = (await eventually("a banner is shown", lambda: rig.outcome("to be opened", ["shown"]))).event.id
    await client.press(number, "ntfy-open")

    def is_told():
        with open(f"{FOLDER}/notifyd-ntfy.log") as file:
            return "An address cannot be opened" in file.read()
    await eventually("the log says why", is_told)
    expect("outcome", (await client.explain(number))["outcome"], "shown")
    say("where nothing can open an address, its event is not claimed")
    if os.access("/usr/bin/xdg-open", os.X_OK):
        await opens_by_a_unit(rig, number)
    await copies(rig)

    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f6"
        "45400000000049454e44ae426082")
    server.files = {"/good.png": ("image/png", png), "/page.png": ("image/png", b"<html>"), "/large.png": (
        "image/png", png + bytes(300 << 10)), "/huge.png": ("image/png", png[:16] + b"\xff" * 8 + png[24:])}
    other = Server()
    await other.start()
    other.files = server.files
    server.publish("pictures", "good", icon=f"http://localhost:{server.port}/good.png")
    folder = os.environ["XDG_RUNTIME_DIR"] + "/notifyd-ntfy"
    files = await eventually("a picture is kept", lambda: os.path.isdir(folder) and os.listdir(folder))

    def is_shown():
        with open(f"{FOLDER}/server.log") as file:
            return f"{folder}/{files[0]}" in file.read()
    await eventually("the banner has the picture", is_shown)
    for name in ("page", "large", "huge"):
        server.publish("pictures", name, icon=f"http://localhost:{server.port}/{name}.png")
    server.publish("pictures", "private", icon=f"http://127.0.0.1:{other.port}/good.png")
    await eventually("all are events", lambda: rig.event("private", "/pictures"))
    expect("requests to a machine that is none of its business", other.requests, [])
    await other.stop()
    expect("pictures", os.listdir(folder), files)
    with open(f"{FOLDER}/notifyd-ntfy.log") as file:
        log = file.read()
    for reason in ("it is not a PNG", "it is larger than 256 KiB", "pixels large", "not on the public network"):
        expect(f"the log says “{reason}”", reason in log, True)
    say("a small picture is in the banner; others are not fetched or not kept, and the log says why")
    server.files["/never.png"] = ("image/png", None)
    begin = time.monotonic()
    for number in range(100):
        server.publish("pictures", f"never {number}", icon=f"http://localhost:{server.port}/never.png")
    server.publish("pictures", "first", sequence_id="door", icon=f"http://localhost:{server.port}/never.png")
    server.publish("pictures", "second", sequence_id="door", icon=f"http://localhost:{server.port}/never.png")
    await eventually("what comes later is an event", lambda: rig.event("second", "/pictures"))
    passed = time.monotonic() - begin
    # One after the other they would wait for a minute.
    expect(f"whether they are passed after {passed:.1f} s", passed < 20, True)
    await eventually("all are events", lambda: rig.event("never 0", "/pictures"))
    say("pictures that never come hold up no other message")

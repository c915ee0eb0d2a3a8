#!/usr/bin/env python3
"""What notifyd-ntfy costs: its memory, and the time from the send of a server to the signal Event, beside a plain reader.

Everything is started here: a bus, notifyd, notifyd-ntfy and a stand-in for the server. It prints its figures, and ends with 1
if one misses what it must reach. Options: --products FOLDER (.build/release), --count N (2000), --rate N a second (100).
"""

import argparse
import asyncio
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python/src"), str(ROOT / "Tests/EndToEndTests/Rigs")]

import notifyd  # noqa: E402
from ntfy_stand_in import Server  # noqa: E402

# Milliseconds over the plain reader, and MiB.
LATENCY, MEMORY = 10, 32


def percentile(values, part):
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] * 1000


def status(process, name):
    with open(f"/proc/{process.pid}/status") as file:
        return int(next(line.split()[1] for line in file if line.startswith(name + ":")))


def switches(process):
    """Wake-ups of all its threads."""
    total = 0
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{thread}/status") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches:"))
    return total


async def read_plainly(port, heard):
    """What any client does: it reads the stream and notes when each line came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /a/json HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while line := await reader.readline():
        if b'"message": "n' in line:
            heard[line.split(b'"message": "n')[1].split(b'"')[0].decode()] = time.perf_counter()


async def measure(options, folder):
    products = pathlib.Path(options.products).resolve()
    environment = {
        **os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder + "/config", "XDG_STATE_HOME": folder + "/state",
        "XDG_RUNTIME_DIR": folder, "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={folder}/none"}
    server = Server(burst=1000000)
    await server.start()
    os.makedirs(folder + "/config/notifyd")
    with open(folder + "/config/notifyd/config.toml", "w") as file:
        file.write("[banner]\nstart_server = false\n")
    with open(folder + "/config/notifyd/ntfy.toml", "w") as file:
        file.write(f'[[server]]\nurl = "http://localhost:{server.port}"\n'
                   '[[server.map]]\nsubscribe = ["a"]\ntopic = "/ntfy/{name}"\n')
    bus = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address", f"--address=unix:path={folder}/bus"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    address = bus.stdout.readline().decode().strip()
    environment["DBUS_SESSION_BUS_ADDRESS"] = address
    processes = [bus]
    try:
        for name in ("notifyd", "notifyd-ntfy"):
            log = open(f"{folder}/{name}.log", "w")
            processes.append(subprocess.Popen([str(products / name)], env=environment, stderr=log))
        bridge = processes[-1]
        while not server.listeners:
            await asyncio.sleep(0.05)
        # Past the sweep.
        await asyncio.sleep(8)
        idle, before = status(bridge, "VmRSS") / 1024, switches(bridge)
        await asyncio.sleep(options.idle)
        wakes = (switches(bridge) - before) / options.idle

        sent, plain, announced = {}, {}, {}
        reader = asyncio.create_task(read_plainly(server.port, plain))
        while len(server.listeners) < 2:
            await asyncio.sleep(0.05)

        async def listen(client):
            async with client.events("/ntfy") as events:
                async for event in events:
                    announced[event.body[1:]] = time.perf_counter()

        async with notifyd.Client(address) as client:
            listener = asyncio.create_task(listen(client))
            await asyncio.sleep(1)
            for number in range(options.count):
                sent[str(number)] = time.perf_counter()
                server.publish("a", f"n{number}")
                await asyncio.sleep(1 / options.rate)
            until = time.monotonic() + 30
            while len(announced) < options.count and time.monotonic() < until:
                await asyncio.sleep(0.05)
            listener.cancel()
        reader.cancel()
        floor = [plain[number] - sent[number] for number in plain]
        latency = [announced[number] - sent[number] for number in announced]
        p99 = percentile(latency, 0.99) - percentile(floor, 0.99)
        print(f"messages                          {options.count} at {options.rate} a second, {len(announced)} came")
        print(f"to a plain reader, p50 / p99      {percentile(floor, 0.5):.2f} / {percentile(floor, 0.99):.2f} ms")
        print(f"to the signal, p50 / p99          {percentile(latency, 0.5):.2f} / {percentile(latency, 0.99):.2f} ms")
        print(f"p99 over the plain reader's       {p99:.2f} ms (must: {LATENCY})")
        print(f"memory idle                       {idle:.1f} MiB (must: {MEMORY})")
        print(f"memory afterwards, greatest       {status(bridge, 'VmRSS') / 1024:.1f}, {status(bridge, 'VmHWM') / 1024:.1f} MiB")
        print(f"wake-ups a second while idle      {wakes:.2f}")
        return len(announced) == options.count and p99 <= LATENCY and idle <= MEMORY
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


parser = argparse.ArgumentParser()
parser.add_argument("--products", default=str(ROOT / ".build/release"))
parser.add_argument("--count", type=int, default=2000)
parser.add_argument("--rate", type=float, default=100)
parser.add_argument("--idle", type=float, default=20)
with tempfile.TemporaryDirectory() as temporary:
    sys.exit(0 if asyncio.run(measure(parser.parse_args(), temporary)) else 1)

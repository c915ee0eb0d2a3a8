"""What ntfy.sh runs: ntfy.py PRODUCTS FOLDER [PART …]. It prints a line for each fact, and ends with 1 at the first that does
not hold."""

import asyncio
import sys
import time

import ntfy_in
import ntfy_out
from ntfy_rig import Failed, Rig

PARTS = [
    ntfy_in.messages_in, ntfy_in.clears_in, ntfy_out.messages_out, ntfy_out.buttons, ntfy_in.faults, ntfy_in.rude,
    ntfy_in.forbidden, ntfy_in.kills, ntfy_in.lost_state,
    ntfy_out.full_disk, ntfy_out.faults_out, ntfy_in.denied, ntfy_in.encrypted]


async def main():
    rig = Rig()
    await rig.begin()
    chosen = sys.argv[3:]
    try:
        for part in PARTS:
            if part is PARTS[0] or not chosen or part.__name__ in chosen:
                begin = time.monotonic()
                await part(rig)
                print(f"({part.__name__}: {time.monotonic() - begin:.1f} s)", flush=True)
    finally:
        for process in (rig.bridge, rig.daemon):
            if process and process.poll() is None:
                process.kill()
                process.wait()


try:
    asyncio.run(main())
except Failed as error:
    print("FAILED:", error)
    sys.exit(1)

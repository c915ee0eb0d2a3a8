"""Stands in for systemd-journald: fake-journal.py SOCKET-FOLDER RECORDS

Each record that arrives becomes one line of JSON in the file RECORDS. Services whose output goes to the journal
get a stream that is read and forgotten: systemd tells them about it in JOURNAL_STREAM, and by that they know
that there is a journal to talk to.
"""

import json
import os
import selectors
import socket
import sys

folder, records = sys.argv[1], open(sys.argv[2], "w", buffering=1)
os.chmod(sys.argv[2], 0o644)
selector = selectors.DefaultSelector()


def fields(datagram):
    """KEY=value lines; a value with line breaks comes as KEY, its length in 8 bytes and the value."""
    result = {}
    while datagram:
        line, _, rest = datagram.partition(b"\n")
        key, is_short, value = line.partition(b"=")
        if not is_short:
            size = int.from_bytes(rest[:8], "little")
            value, rest = rest[8:8 + size], rest[8 + size + 1:]
        result[key.decode()] = value.decode(errors="replace")
        datagram = rest
    return result


def listen(name, kind):
    listener = socket.socket(socket.AF_UNIX, kind)
    listener.bind(f"{folder}/{name}")
    os.chmod(f"{folder}/{name}", 0o666)
    return listener


entries = listen("socket", socket.SOCK_DGRAM)
streams = listen("stdout", socket.SOCK_STREAM)
streams.listen()
selector.register(entries, selectors.EVENT_READ)
selector.register(streams, selectors.EVENT_READ)
while True:
    for key, _ in selector.select():
        if key.fileobj is entries:
            record = fields(entries.recv(1 << 20))
            records.write(json.dumps(record, ensure_ascii=False) + "\n")
        elif key.fileobj is streams:
            selector.register(streams.accept()[0], selectors.EVENT_READ)
        elif not key.fileobj.recv(1 << 16):
            selector.unregister(key.fileobj)
            key.fileobj.close()

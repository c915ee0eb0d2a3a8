#!/usr/bin/python3
"""Tells of new mail by IMAP IDLE, at once and without asking again and again (the package notifyd).

    mail.py imaps://mina@imap.example/INBOX PASSWORD-FILE

A mail is an event at /mail/FOLDER. One that is read elsewhere meanwhile is claimed here, so that its banner goes. What
came while this program was not there is told when it is back; nothing is told twice, because an event has the number of
its mail as its id.
Needs the package notifyd for Python, and a server with IDLE (RFC 2177), as all usual ones are.
"""

import asyncio
import email
import email.policy
import imaplib
import os
import re
import sys
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import notifyd

ROUND = 25 * 60  # seconds; servers end a connection that says nothing for half an hour
PAUSE = 30  # seconds before another attempt


class Folder:
    """A folder on a server, for as long as one connection lasts."""

    def __init__(self, address: str, password: str) -> None:
        url = urlsplit(address)
        folder = unquote(url.path.lstrip("/")) or "INBOX"
        make = imaplib.IMAP4_SSL if url.scheme == "imaps" else imaplib.IMAP4
        self.imap = make(url.hostname or "localhost", url.port or make.__init__.__defaults__[1], timeout=60)
        self.imap.login(unquote(url.username or ""), password)
        self.imap.select(f'"{folder}"', readonly=True)
        (validity,) = self.imap.response("UIDVALIDITY")[1]
        self.source = f"imap:{url.username}@{url.hostname}/{folder}/{validity.decode()}"
        self.topic = "/mail/" + re.sub(r"[^\w.-]", "_", folder)

    def unread(self) -> set[int]:
        numbers = self.imap.uid("SEARCH", "UNSEEN")[1][0] or b""
        return {int(number) for number in numbers.split()}

    def head(self, number: int) -> tuple[str, str]:
        parts = self.imap.uid("FETCH", str(number), "(BODY.PEEK[HEADER.FIELDS (FROM SUBJECT)])")[1]
        text = next((part[1] for part in parts if isinstance(part, tuple)), b"")
        mail = email.message_from_bytes(text, policy=email.policy.default)
        return str(mail["From"] or "somebody"), str(mail["Subject"] or "")

    def changes(self) -> Iterator[None]:
        """Yields whenever something may have changed. The library has no IDLE before Python 3.14."""
        while True:
            yield
            tag = self.imap._new_tag()
            self.imap.send(tag + b" IDLE\r\n")
            self.imap.sock.settimeout(ROUND)
            line = b""
            try:
                while not re.match(rb"\* \d+ (EXISTS|EXPUNGE|FETCH)", line):
                    line = self.imap.readline()
                    if not line:
                        raise self.imap.abort("the server has ended the connection")
            except TimeoutError:
                pass
            self.imap.sock.settimeout(60)
            self.imap.send(b"DONE\r\n")
            while not line.startswith(tag):
                line = self.imap.readline()
                if not line:
                    raise self.imap.abort("the server has ended the connection")


async def watch(client: notifyd.Client, folder: Folder, told: set[tuple[str, int]]) -> None:
    changes = folder.changes()
    while True:
        await asyncio.to_thread(next, changes)
        unread = {(folder.source, number) for number in await asyncio.to_thread(folder.unread)}
        for name in sorted(unread - told):
            sender, subject = await asyncio.to_thread(folder.head, name[1])
            await client.publish(
                folder.topic, sender[:200], subject[:1000], source=folder.source, event_id=str(name[1]), via="imap")
            told.add(name)
        for source, number in told - unread:
            await client.claim_named(source, str(number), done="dismissed", device="mail", via="imap")
        told &= unread


async def main(address: str, file: str) -> None:
    told: set[tuple[str, int]] = set()
    async with notifyd.Client() as client:
        while True:
            try:
                with open(file) as lines:
                    password = lines.readline().rstrip("\n")
                await watch(client, await asyncio.to_thread(Folder, address, password), told)
            except (OSError, imaplib.IMAP4.error, notifyd.Error) as error:
                print(f"{error}; the next attempt is in {PAUSE} s", file=sys.stderr, flush=True)
            await asyncio.sleep(PAUSE)


if len(sys.argv) != 3 or not os.path.isfile(sys.argv[2]):
    sys.exit(__doc__)
asyncio.run(main(*sys.argv[1:]))

#!/usr/bin/python3
"""Reports new mail by IMAP IDLE, at once and without asking again and again (the package notifyd).

    mail.py imaps://mina@imap.example/INBOX PASSWORD-FILE

A mail is an event at /mail/FOLDER. One that is read elsewhere meanwhile is claimed here, so that its banner goes. What
came while this program was not there is told when it is back; nothing is told twice, because an event has the number of
its mail as its id.
A folder whose name has other letters than those of an address is written with %XX: Entw%C3%BCrfe.
Needs the package notifyd for Python, and a server with IDLE (RFC 2177), as all usual ones are.
"""

import asyncio
import base64
import email
import email.policy
import hashlib
import imaplib
import os
import re
import select
import ssl
import sys
import time
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

try:
    import notifyd
except ImportError:
    sys.exit("The package notifyd for Python is missing: install the package python3-notifyd, or what \"make wheel\" builds; see python/README.md.")

ROUND = 25 * 60  # seconds; servers end a connection that says nothing for half an hour
PAUSE = 30  # seconds before another attempt
PATIENCE = 60  # seconds for an answer
NEWS = re.compile(rb"\* \d+ (EXISTS|EXPUNGE|FETCH)")
HEAD = 16384  # bytes of a head that are read


# What notifyd refuses whenever it is asked. Everything else is tried again.
FOR_GOOD = (notifyd.InvalidEvent, notifyd.InvalidTopic, notifyd.TooLarge, notifyd.AccessDenied)


class Mistake(Exception):
    """What only the user can mend."""


def cut(text: str, size: int) -> str:
    """So many bytes at most, in one line, without what no message on the bus may hold: NUL, surrogates and characters for
    internal use."""
    text = "".join("\ufffd" if one == "\0" or "\ud800" <= one <= "\udfff" or "\ufdd0" <= one <= "\ufdef" or
                   ord(one) & 0xFFFE == 0xFFFE else one for one in " ".join(text[:size].split()))
    return text.encode()[:size].decode(errors="ignore")


def header(mail: email.message.Message, name: str) -> str:
    """A line of the head as text; as it was sent, if nobody can read it."""
    try:
        return str(mail[name] or "")
    except Exception:  # whatever a parser makes of what a stranger has written
        return next((str(text) for key, text in mail.raw_items() if key.lower() == name.lower()), "")


def encoded(folder: str) -> str:
    """The name of a folder as IMAP writes it: "modified UTF-7", RFC 3501, 5.1.3."""
    def shifted(part: re.Match) -> str:
        return "&" + base64.b64encode(part[0].encode("utf-16-be")).decode().rstrip("=").replace("/", ",") + "-"

    return re.sub(r"[^ -~]+", shifted, folder.replace("&", "&-"))


class Folder:
    """A folder on a server, for as long as one connection lasts."""

    def __init__(self, address: str, password: str) -> None:
        url = urlsplit(address)
        folder = unquote(url.path.lstrip("/")) or "INBOX"
        make = imaplib.IMAP4_SSL if url.scheme == "imaps" else imaplib.IMAP4
        self.imap = make(url.hostname or "localhost", url.port or make.__init__.__defaults__[1], timeout=PATIENCE)
        self.imap.login(unquote(url.username or ""), password)
        name = re.sub(r'(["\\])', r"\\\1", encoded(folder))
        kind, answer = self.imap.select(f'"{name}"', readonly=True)
        if kind != "OK":
            raise Mistake(
                f"The server does not open the folder {folder} ({answer[0].decode(errors='replace')}). Write its whole name, "
                "such as INBOX or Lists/Debian, and %XX for what is not a letter of an address.")
        validity = (self.imap.response("UIDVALIDITY")[1] or [None])[0] or b"0"
        self.source = f"imap:{url.username}@{url.hostname}/{folder}/{validity.decode(errors='replace')}"
        if len(self.source.encode()) > 256:
            self.source = "imap:" + hashlib.sha256(self.source.encode()).hexdigest()
        self.topic = "/mail/" + cut(re.sub(r"[^\w.-]", "_", folder), 64)

    def unread(self) -> set[int]:
        numbers = self.imap.uid("SEARCH", "UNSEEN")[1][0] or b""
        return {int(number) for number in re.findall(rb"\d+", numbers)}

    def head(self, number: int) -> tuple[str, str] | None:
        """Sender and subject; None if the mail is gone."""
        parts = self.imap.uid("FETCH", str(number), f"(BODY.PEEK[HEADER.FIELDS (FROM SUBJECT)]<0.{HEAD}>)")[1]
        text = next((part[1] for part in parts if isinstance(part, tuple)), None)
        if text is None:
            return None
        mail = email.message_from_bytes(text, policy=email.policy.default)
        return cut(header(mail, "From") or "somebody", 800), cut(header(mail, "Subject"), 4000)

    def changes(self) -> Iterator[None]:
        """Yields whenever something may have changed."""
        while True:
            yield
            # The server may have told about it with the answer to something else.
            if any(self.imap.response(kind)[1] != [None] for kind in ("EXISTS", "EXPUNGE")):
                continue
            if hasattr(self.imap, "idle"):  # since Python 3.14
                with self.imap.idle(duration=ROUND) as answers:
                    for kind, _ in answers:
                        if kind in ("EXISTS", "EXPUNGE", "FETCH"):
                            break
            else:
                self.idle()

    def idle(self) -> None:
        """Returns when something has changed, or after a round."""
        tag = self.imap._new_tag()
        self.imap.send(tag + b" IDLE\r\n")
        until = time.monotonic() + ROUND
        line = b""
        has_news = False
        while not line.startswith(b"+"):
            line = self.line()
            has_news = has_news or bool(NEWS.match(line))
            if line.startswith(tag):
                raise Mistake("The server knows no IDLE, and this program needs it.")
        while not has_news and self.has_line(until):
            line = self.line()
            has_news = bool(NEWS.match(line))
        self.imap.send(b"DONE\r\n")
        while not line.startswith(tag):
            line = self.line()

    def line(self) -> bytes:
        line = self.imap.readline()
        if not line:
            raise self.imap.abort("the server has ended the connection")
        return line

    def has_line(self, until: float) -> bool:
        """Waits for something to read. It is waited for outside of the reader, which cannot be used any more after a timeout."""
        is_ready = False
        while True:
            # The reader may have it already; with TLS, a socket that is ready may have nothing of a line.
            self.imap.sock.settimeout(0)
            try:
                if self.imap.file.peek(1) or is_ready:
                    return True
            except ssl.SSLWantReadError:
                pass
            finally:
                self.imap.sock.settimeout(PATIENCE)
            rest = until - time.monotonic()
            if rest <= 0:
                return False
            is_ready = bool(select.select([self.imap.sock], [], [], rest)[0])


async def watch(client: notifyd.Client, folder: Folder, told: set[tuple[str, int]]) -> None:
    changes = folder.changes()
    while True:
        await asyncio.to_thread(next, changes)
        unread = {(folder.source, number) for number in await asyncio.to_thread(folder.unread)}
        for name in sorted(unread - told):
            head = await asyncio.to_thread(folder.head, name[1])
            try:
                if head:
                    await client.publish(folder.topic, *head, source=folder.source, event_id=str(name[1]), via="imap")
            except FOR_GOOD as error:
                print(f"mail {name[1]} is not told: {error}", file=sys.stderr, flush=True)
            told.add(name)
        for source, number in told - unread:
            try:
                await client.claim_named(source, str(number), done="dismissed", device="mail", via="imap")
            except FOR_GOOD as error:
                print(f"mail {number} is not claimed: {error}", file=sys.stderr, flush=True)
        told &= unread


async def main(address: str, file: str) -> None:
    told: set[tuple[str, int]] = set()
    async with notifyd.Client() as client:
        while True:
            try:
                with open(file) as lines:
                    password = lines.readline().rstrip("\n")
                await watch(client, await asyncio.to_thread(Folder, address, password), told)
            except Mistake:
                raise
            except Exception as error:  # a server may answer anything
                print(f"{error or type(error).__name__}; the next attempt is in {PAUSE} s", file=sys.stderr, flush=True)
            await asyncio.sleep(PAUSE)


if len(sys.argv) != 3 or not os.path.isfile(sys.argv[2]):
    sys.exit(__doc__)
try:
    asyncio.run(main(*sys.argv[1:]))
except (Mistake, notifyd.Error) as mistake:
    sys.exit(str(mistake))

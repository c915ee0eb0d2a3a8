"""A stand-in for an IMAP server with one folder and IDLE: fake-imap.py PORT-FILE COMMAND-FIFO

It knows the commands that examples/python/mail.py uses, for one client at a time. The fifo takes lines: “new SUBJECT”, “raw HEAD” with
the lines of a head in base64, “read NUMBER”, “drop” ends the connection, “idled FILE” makes the file after three rounds of IDLE.
"""

import asyncio
import base64
import re
import sys


class Server:
    def __init__(self) -> None:
        self.mails: dict[int, bytes] = {}
        self.unread: set[int] = set()
        self.writer: asyncio.StreamWriter | None = None
        self.idle = False
        self.is_new = False
        self.rounds = 0
        self.sign = ""

    def say(self, line: str) -> None:
        if self.writer:
            self.writer.write(line.encode() + b"\r\n")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer, self.idle = writer, False
        self.say("* OK [CAPABILITY IMAP4rev1 IDLE] ready")
        idle_tag = ""
        while line := (await reader.readline()).decode().rstrip():
            if line == "DONE":
                self.idle = False
                self.say(f"{idle_tag} OK idled")
                self.rounds += 1
                if self.rounds == 3 and self.sign:
                    open(self.sign, "w").close()
                continue
            tag, command, *rest = line.split(" ", 2)
            arguments = rest[0] if rest else ""
            # As servers do: with the answer to whatever comes next, and before they let a client wait.
            if self.is_new and command.upper() in ("UID", "IDLE"):
                self.say(f"* {len(self.mails)} EXISTS")
                self.is_new = False
            match command.upper():
                case "CAPABILITY":
                    self.say("* CAPABILITY IMAP4rev1 IDLE")
                case "LOGIN":
                    if arguments != 'mina "secret"':
                        self.say(f"{tag} NO wrong password")
                        continue
                case "SELECT" | "EXAMINE" if arguments not in ("INBOX", '"INBOX"', '"Entw&APw-rfe"'):
                    self.say(f"{tag} NO there is no such folder")
                    continue
                case "SELECT" | "EXAMINE":
                    self.say(f"* {len(self.mails)} EXISTS")
                    self.say("* OK [UIDVALIDITY 7] valid")
                case "UID" if arguments.upper().startswith("SEARCH"):
                    self.say("* SEARCH " + " ".join(map(str, sorted(self.unread))))
                case "UID":
                    number = int(re.search(r"\d+", arguments)[0])
                    # As much as is asked for.
                    head = self.mails[number][:int(re.search(r"<0\.(\d+)>", arguments)[1])]
                    self.say(f"* {number} FETCH (UID {number} BODY[HEADER.FIELDS (FROM SUBJECT)]<0> {{{len(head)}}}")
                    writer.write(head + b")\r\n")
                case "IDLE":
                    self.idle, idle_tag = True, tag
                    self.say("+ idling")
                    continue
            self.say(f"{tag} OK done")
        writer.close()

    def control(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        if verb in ("new", "raw"):
            number = len(self.mails) + 1
            head = f"From: Mina <mina@example.org>\r\nSubject: {rest}\r\n\r\n".encode()
            self.mails[number] = head if verb == "new" else base64.b64decode(rest)
            self.unread.add(number)
            if self.idle:
                self.say(f"* {number} EXISTS")
            else:
                self.is_new = True
        elif verb == "read":
            self.unread.discard(int(rest))
            if self.idle:
                self.say(f"* {rest} FETCH (FLAGS (\\Seen))")
        elif verb == "idled":
            self.rounds, self.sign = 0, rest
        elif verb == "drop" and self.writer:
            self.writer.close()


async def main(port_file: str, fifo: str) -> None:
    server = Server()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    with open(port_file, "w") as file:
        print(listener.sockets[0].getsockname()[1], file=file)
    loop = asyncio.get_running_loop()

    def read() -> None:
        with open(fifo) as commands:
            for line in commands:
                loop.call_soon_threadsafe(server.control, line.rstrip("\n"))

    await loop.run_in_executor(None, read)


asyncio.run(main(*sys.argv[1:]))

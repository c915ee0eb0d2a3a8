"""A stand-in for a server of ntfy, for tests: there is no package of the real one.

As far as a client can tell it does what was read in the source of ntfy 2.19 (server/server.go, model/model.go,
message/cache_sqlite.go): a message goes to those who listen before it is kept for those who ask; those of one second are
replayed in any order; an unknown id in since= replays everything; clear and delete are messages themselves; a sequence id is
left out where it equals the id; 60 requests, then one in 5 seconds; a message of more than 4,096 bytes becomes an attachment;
"up" topics have 12 characters and a listener, else 507.

Run as a program it prints its port, and serves.
"""

import argparse
import asyncio
import base64
import json
import random
import string
import time
import urllib.parse

CHARACTERS = string.ascii_letters + string.digits
PRIORITIES = {"min": 1, "low": 2, "default": 3, "high": 4, "max": 5, "urgent": 5}


class Request:
    def __init__(self, method, target, headers, body):
        self.method = method
        self.path, _, query = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query))
        self.headers = headers
        self.body = body
        self.time = time.monotonic()

    def value(self, name):
        """A parameter, which may be a header or in the query."""
        for key in ("x-" + name, name):
            if self.headers.get(key):
                return self.headers[key]
        return self.query.get(name, "")


class Listener:
    def __init__(self, topics):
        self.topics = topics
        self.queue = asyncio.Queue()


class Server:
    """Everything public may be set by a test while it runs. What is in `faults` counts down with each request it spoils."""

    def __init__(self, token="", burst=60, interval=5.0, keepalive=45.0, cache_delay=0.0):
        self.token = token
        self.burst, self.interval = burst, interval
        self.keepalive = keepalive
        self.cache_delay = cache_delay
        self.readonly = set()
        # Topics that nobody may read, and not together with others either.
        self.forbidden = set()
        # What is said to listeners without an end: "line" has none, "lines" come as fast as they are taken.
        self.endless = ""
        # Seconds by which its clock is wrong.
        self.clock = 0
        # Messages are cut into chunks of so many bytes; 0 is whole.
        self.cut = 0
        # Messages for listeners that are held back until release().
        self.held = None
        # status, page, login, portal, informational, redirect, hang, silent, unheard, double, unanswered; of them login, portal
        # and informational spoil what is sent alone
        self.faults = {}
        self.refusal = (500, [])
        self.files = {}
        self.cache = []
        self.requests = []
        self.listeners = []
        self.port = 0
        self._writers = set()
        self._tokens, self._refilled = float(burst), time.monotonic()
        self._listening = None

    # Its life

    async def start(self, port=0, ssl=None):
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", port or self.port, limit=1 << 20, ssl=ssl)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def stop(self):
        self._listening.close()
        self.drop()
        await asyncio.sleep(0)

    def drop(self):
        for writer in self._writers:
            writer.transport.abort()

    # Messages

    def message(self, event, topic, **members):
        name = "".join(random.choice(CHARACTERS) for _ in range(12))
        return {"id": name, "time": int(time.time()) + self.clock, "event": event, "topic": topic, **members}

    @staticmethod
    def line(message):
        if message.get("sequence_id") == message["id"]:
            message = {key: value for key, value in message.items() if key != "sequence_id"}
        return json.dumps(message).encode() + b"\n"

    def publish(self, topic, text="", **members):
        """What a publisher does, without a request."""
        return self._publish(self.message("message", topic, message=text, **members))

    def clear(self, topic, sequence):
        return self._publish(self.message("message_clear", topic, sequence_id=sequence))

    def delete(self, topic, sequence):
        return self._publish(self.message("message_delete", topic, sequence_id=sequence))

    def say(self, line):
        """Every listener gets a line, whatever it is."""
        for listener in self.listeners:
            listener.queue.put_nowait(line)

    def release(self):
        """What was held goes out the other way round."""
        held, self.held = self.held or [], None
        for listener, line in reversed(held):
            listener.queue.put_nowait(line)

    def _publish(self, message):
        if not self._takes("unheard"):
            for listener in [one for one in self.listeners if message["topic"] in one.topics]:
                for _ in range(2 if self._takes("double") else 1):
                    if self.held is not None:
                        self.held.append((listener, self.line(message)))
                    else:
                        listener.queue.put_nowait(self.line(message))
        if self.cache_delay:
            asyncio.get_running_loop().call_later(self.cache_delay, self.cache.append, message)
        else:
            self.cache.append(message)
        return message

    def _kept(self, topics, since, poll):
        kept = [message for message in self.cache if message["topic"] in topics]
        if since == "none" or since == "" and not poll:
            return []
        if since == "latest":
            return [one for topic in topics for one in [other for other in kept if other["topic"] == topic][-1:]]
        if since.isdigit() and len(since) != 12:
            kept = [message for message in kept if message["time"] >= int(since)]
        elif since not in ("", "all"):
            ids = [message["id"] for message in kept]
            if since in ids:
                kept = kept[ids.index(since) + 1:]
        random.shuffle(kept)
        return sorted(kept, key=lambda message: message["time"])

    # Requests

    def _takes(self, fault):
        if self.faults.get(fault, 0) < 1:
            return False
        self.faults[fault] -= 1
        return True

    def _is_limited(self):
        now = time.monotonic()
        self._tokens = min(self.burst, self._tokens + (now - self._refilled) / self.interval)
        self._refilled = now
        if self._tokens < 1:
            return True
        self._tokens -= 1
        return False

    async def _serve(self, reader, writer):
        self._writers.add(writer)
        try:
            while True:
                await self._answer(await self._read(reader), writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    @staticmethod
    async def _read(reader):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {}
        for line in filter(None, head[1:]):
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip().encode("latin-1").decode("utf-8", "replace")
        body = b""
        if "content-length" in headers:
            body = await reader.readexactly(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            while size := int((await reader.readline()).split(b";")[0], 16):
                body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        return Request(method, target, headers, body)

    @staticmethod
    def _reply(writer, status, body=b"{}\n", kind="application/json", extra=()):
        lines = [f"HTTP/1.1 {status} x", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *extra, "", ""]
        writer.write("\r\n".join(lines).encode() + body)

    async def _answer(self, request, writer):
        self.requests.append(request)
        if request.path in self.files:
            kind, content = self.files[request.path]
            if content is None:
                await asyncio.sleep(3600)
            return self._reply(writer, 200, content, kind)
        if self._takes("status"):
            return self._reply(writer, self.refusal[0], extra=self.refusal[1])
        if self._takes("page"):
            return self._reply(writer, 200, b"<html>Welcome to the hotel</html>", "text/html")
        if request.method != "GET" and self._takes("login"):
            return self._reply(writer, 200, b"<html>Welcome to the hotel</html>", "text/html")
        if request.method != "GET" and self._takes("portal"):
            return self._reply(writer, 200, b'{"login": "http://hotel/"}')
        if request.method != "GET" and self._takes("informational"):
            while not writer.is_closing():
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
                await writer.drain()
            return None
        if self._takes("redirect"):
            return self._reply(writer, 302, extra=["Location: http://localhost:1/login"])
        if self._takes("hang"):
            await asyncio.sleep(3600)
        if self._is_limited():
            return self._reply(writer, 429)
        login = request.headers.get("authorization")
        if self.token and login != "Bearer " + self.token:
            return self._reply(writer, 401 if login else 403)
        parts = list(filter(None, request.path.split("/")))
        if request.method == "GET" and len(parts) == 2 and parts[1] == "json":
            if self.forbidden & set(parts[0].split(",")):
                return self._reply(writer, 403)
            return await self._subscribe(request, writer, parts[0].split(","))
        message = self._message(request, parts)
        if message is None:
            return self._reply(writer, 404, b'{"code":40401,"http":404,"error":"page not found"}\n')
        topic = message["topic"]
        if topic in self.readonly:
            return self._reply(writer, 403)
        if topic.startswith("up") and len(topic) == 12 and not any(topic in one.topics for one in self.listeners):
            return self._reply(writer, 507)
        self._publish(message)
        if self._takes("unanswered"):
            return writer.transport.abort()
        self._reply(writer, 200, self.line(message))

    def _message(self, request, parts):
        if request.method in ("POST", "PUT") and not parts:
            return self._from_json(request)
        if request.method == "DELETE" and len(parts) == 2:
            return self.message("message_delete", parts[0], sequence_id=parts[1])
        if request.method == "PUT" and len(parts) == 3 and parts[2] in ("clear", "read"):
            return self.message("message_clear", parts[0], sequence_id=parts[1])
        if request.method in ("POST", "PUT") and 1 <= len(parts) <= 2:
            return self._from_request(request, *parts)
        return None

    def _from_request(self, request, topic, sequence=None):
        if len(request.body) > 4096:
            message = self.message("message", topic, message="You received a file: attachment.txt", attachment={
                "name": "attachment.txt", "type": "text/plain", "size": len(request.body), "url": "http://x/file/x.txt"})
        elif request.query.get("up") == "1":
            message = self.message("message", topic, message=base64.b64encode(request.body).decode(), encoding="base64")
        else:
            message = self.message("message", topic, message=request.body.decode("utf-8", "replace") or "triggered")
        message["sequence_id"] = request.value("sequence-id") or sequence or message["id"]
        for name in ("title", "click", "icon"):
            if request.value(name):
                message[name] = request.value(name)
        if priority := request.value("priority"):
            message["priority"] = PRIORITIES.get(priority) or int(priority)
        if request.value("tags"):
            message["tags"] = [tag.strip() for tag in request.value("tags").split(",")]
        if request.value("actions"):
            message["actions"] = json.loads(request.value("actions"))
        if request.value("attach"):
            message["attachment"] = {"name": "file", "url": request.value("attach")}
        if request.value("markdown"):
            message["content_type"] = "text/markdown"
        return message

    def _from_json(self, request):
        """Members become headers; too much of it is refused."""
        if len(request.body) > 8192:
            return None
        members = json.loads(request.body)
        headers = dict(request.headers)
        for name in ("title", "click", "icon", "attach", "markdown"):
            if members.get(name):
                headers["x-" + name] = str(members[name])
        if members.get("priority"):
            headers["x-priority"] = str(members["priority"])
        if members.get("tags"):
            headers["x-tags"] = ",".join(members["tags"])
        if members.get("actions"):
            headers["x-actions"] = json.dumps(members["actions"])
        if members.get("sequence_id"):
            headers["x-sequence-id"] = members["sequence_id"]
        inner = Request("POST", "/", headers, (members.get("message") or "triggered").encode())
        return self._from_request(inner, members["topic"])

    async def _subscribe(self, request, writer, topics):
        def chunk(data):
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

        poll, since = request.query.get("poll") == "1", request.query.get("since", "")
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n")
        if poll:
            for message in self._kept(topics, since, True):
                if request.query.get("id", message["id"]) == message["id"]:
                    chunk(self.line(message))
            return chunk(b"")
        listener = Listener(topics)
        self.listeners.append(listener)
        try:
            chunk(self.line(self.message("open", ",".join(topics))))
            if self._takes("silent"):
                self.listeners.remove(listener)
                await writer.drain()
                await asyncio.sleep(3600)
            for message in self._kept(topics, since, False):
                chunk(self.line(message))
            lines = self.line(self.message("keepalive", ",".join(topics))) * 100
            while self.endless:
                chunk(lines if self.endless == "lines" else b"x" * 65536)
                await writer.drain()
            while True:
                await writer.drain()
                try:
                    line = await asyncio.wait_for(listener.queue.get(), self.keepalive)
                except asyncio.TimeoutError:
                    line = self.line(self.message("keepalive", ",".join(topics)))
                for index in range(0, len(line), self.cut or len(line)):
                    chunk(line[index:index + (self.cut or len(line))])
        finally:
            if listener in self.listeners:
                self.listeners.remove(listener)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--burst", type=int, default=60)
    parser.add_argument("--token", default="")
    parser.add_argument("--picture", help="a PNG, as a number in hexadecimal; it is at /icon.png")
    options = parser.parse_args()
    server = Server(token=options.token, burst=options.burst)
    if options.picture:
        server.files = {"/icon.png": ("image/png", bytes.fromhex(options.picture))}
    await server.start(options.port)
    print(server.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

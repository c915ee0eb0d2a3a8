"""The parts that need no daemon: values, topics, the merge of pages and signals, and one connection."""

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jeepney
import pytest

import notifyd
from notifyd import Event, RecordedEvent, Snapshot, Variant
from notifyd._connection import Connection, Message
from notifyd._errors import PREFIX
from notifyd._merge import EventMerge, Request, ValueTable
from notifyd._topics import TopicFilter, ancestor, filters
from notifyd._types import Removal, announcement
from notifyd._values import Value, decoded, encoded, whole
from rig import soon

# The bus


def test_without_an_environment_the_bus_is_that_of_the_users_runtime_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("notifyd._connection._RUNTIME", str(tmp_path))
    with pytest.raises(notifyd.NotReachable, match="set DBUS_SESSION_BUS_ADDRESS"):
        notifyd.session_bus_address()
    usual, named = tmp_path / str(os.getuid()), tmp_path / "a,b"
    usual.mkdir()
    (usual / "bus").touch()
    with pytest.raises(notifyd.NotReachable, match="/bus is not a socket; set DBUS_SESSION_BUS_ADDRESS"):
        notifyd.session_bus_address()
    (usual / "bus").unlink()
    named.mkdir()
    for folder in (usual, named):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "bus"))
    assert notifyd.session_bus_address() == f"unix:path={usual}/bus"
    # A container may have such a variable without a bus.
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/r")
    assert notifyd.session_bus_address() == f"unix:path={usual}/bus"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(named))
    assert notifyd.session_bus_address() == f"unix:path={tmp_path}/a%2Cb/bus"
    # After su(1) it is the folder of somebody else.
    own = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: own + 1)
    with pytest.raises(notifyd.NotReachable, match=f"belongs to user {own}, and not to user {own + 1}"):
        notifyd.session_bus_address()


# Values


@pytest.mark.parametrize(
    ("value", "signature"),
    [
        (True, "b"),
        (-1, "x"),
        (2**63, "t"),
        (0.5, "d"),
        ("영희", "s"),
        (b"\0", "ay"),
        ([1, 2], "ax"),
        ((), "av"),
        ([1, "a"], "av"),
        ([[1], [2]], "av"),
        ({"a": {"b": 1}}, "a{sv}"),
        (Variant("a{su}", {"a": 1}), "a{su}"),
        (Variant("(sv)", ("a", [True])), "(sv)"),
        (Variant("ay", [1]), "ay"),
    ],
)
def test_a_value_has_its_type_and_comes_back(value: Value, signature: str) -> None:
    variant = encoded(value)
    assert variant[0] == signature
    message = jeepney.new_signal(jeepney.DBusAddress("/a", None, "a.b"), "C", "v", (variant,))
    (received,) = decoded("v", jeepney.low_level.Message.from_buffer(message.serialise(1)).body)
    plain = value.value if isinstance(value, Variant) else value
    assert received == (b"\1" if signature == "ay" and plain == [1] else list(plain) if plain == () else plain)


@pytest.mark.parametrize(
    "value",
    [
        2**64,
        "\0",
        "\ud800",
        {"\0": 1},
        Variant("", 1),
        Variant("z", 1),
        Variant("uu", 1),
        Variant("h", 0),
        Variant("y", 256),
        Variant("(s", ("a",)),
        Variant("(ss)", ("a",)),
        Variant("u", "a"),
    ],
)
def test_what_d_bus_cannot_carry_is_a_value_error(value: Value) -> None:
    with pytest.raises(ValueError):
        encoded(value)


def test_times_are_rounded_up_to_whole_units() -> None:
    assert [whole(seconds, 1000, "") for seconds in (0, 0.07, 0.0001, 0.1)] == [0, 70, 1, 100]
    for seconds in (-1, 2**32, 2**32 - 0.5, 10**400, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="so long"):
            whole(seconds, 1, "so long")


# Arguments


class Unconnected(notifyd.Client):
    """A client whose calls never leave: what is wrong with an argument is found before."""

    @property
    def _manager(self) -> Any:
        return None

    async def _call(self, member: str, signature: str, arguments: tuple[Any, ...], **more: Any) -> tuple[Any, ...]:
        raise notifyd.NotReachable("This client is not connected.")


Call = Callable[[Any, Any], Any]

IDS: list[Call] = [
    lambda client, id: client.claim(id),
    lambda client, id: client.claim_provisionally(id),
    lambda client, id: client.pass_event(id),
    lambda client, id: client.press(id, "accept"),
    lambda client, id: client.snooze(id, 60),
    lambda client, id: client.explain(id),
    lambda client, id: client.mark_read(up_to=id),
    lambda client, id: client.history(after=id),
    lambda client, id: client.journal_changes(id),
]
LIMITS: list[Call] = [
    lambda client, limit: client.history(limit=limit),
    lambda client, limit: client.journal_changes(limit=limit),
    lambda client, limit: client.outcomes("/", limit=limit),
    lambda client, limit: client.actions("/", limit=limit),
    lambda client, limit: client.attention("/", limit=limit),
]
TIMES: list[Call] = [
    lambda client, time: notifyd.Client(timeout=time),
    lambda client, time: client.publish("/a", ttl=time),
    lambda client, time: client.publish("/a", window=time),
    lambda client, time: client.events("/", period=time),
    lambda client, time: client.changes("/", period=time),
    lambda client, time: client.claim_provisionally(1, within=time),
    lambda client, time: client.snooze(1, time),
    lambda client, time: client.claim_topic("/a", time),
    lambda client, time: client.screen("/a", lease=time),
    lambda client, time: client.mark_read(timeout=time),
    lambda client, time: client.mute("/a", time),
    lambda client, time: client.pause(time),
]
MOMENTS: list[Call] = [
    lambda client, moment: client.publish("/a", published=moment),
    lambda client, moment: client.claim_named("s", "1", expires=moment),
]
TEXTS: list[Call] = [
    lambda client, text: notifyd.Client(text),
    lambda client, text: client.send(text),
    lambda client, text: client.send("/a", text),
    lambda client, text: client.send("/a", "", text),
    lambda client, text: client.publish("/a", source=text, event_id="1"),
    lambda client, text: client.publish("/a", source="s", event_id=text),
    lambda client, text: client.publish("/a", via=text),
    lambda client, text: client.claim_named(text, "1"),
    lambda client, text: client.claim_named("s", text),
    lambda client, text: client.claim_named("s", "1", device=text),
    lambda client, text: client.claim_named("s", "1", via=text),
    lambda client, text: client.press(1, text),
    lambda client, text: client.claim_topic(text),
    lambda client, text: client.unread(text),
    lambda client, text: client.mark_read(text),
    lambda client, text: client.history(text),
    lambda client, text: client.snapshot(text),
    lambda client, text: client.mute(text, 60),
]
TOPICS: list[Call] = [
    lambda client, topic: client.events(topic),
    lambda client, topic: client.changes(topic),
    lambda client, topic: client.outcomes(topic),
    lambda client, topic: client.actions("/a", topic),
    lambda client, topic: client.attention(topic),
    lambda client, topic: client.screen(topic),
]
WORDS: list[Call] = [
    lambda client, word: client.send("/a", urgency=word),
    lambda client, word: client.publish("/a", urgency=word),
    lambda client, word: client.claim_named("s", "1", done=word),
    lambda client, word: client.screen("/a", mode=word),
    lambda client, word: client.screen("/a", state=word),
]
FLAGS: list[Call] = [
    lambda client, flag: client.publish("/a", retain=flag),
    lambda client, flag: client.publish("/a", remove=flag),
    lambda client, flag: client.publish("/a", if_newer=flag),
    lambda client, flag: client.publish("/a", banner=flag),
    lambda client, flag: client.screen("/a", clear=flag),
    lambda client, flag: client.set_paused(flag),
]


def _publish_fields(client: Any, fields: Any) -> Any:
    return client.publish("/a", fields=fields)


def _publish_field(client: Any, field: Any) -> Any:
    return client.publish("/a", fields={"a": field})


WRONG: list[tuple[list[Call], type[Exception], list[Any]]] = [
    (IDS, TypeError, ["123", 1.5, True, [], b"1"]),
    (IDS[:-3], TypeError, [None]),
    (IDS, ValueError, [-1, 2**64]),
    ([lambda client, id: client.events("/", after=id)], TypeError, ["1", 1.5, True]),
    ([lambda client, id: client.events("/", after=id)], ValueError, [-1, 2**64]),
    (LIMITS, TypeError, ["1", None, 1.5, True]),
    (LIMITS, ValueError, [0, -1, 2**64]),
    (TIMES, TypeError, ["1", True, []]),
    (TIMES, ValueError, [-1, float("nan")]),
    (MOMENTS, TypeError, ["1", True, []]),
    (MOMENTS, ValueError, [2**63, 10**400, float("nan"), float("inf")]),
    (TEXTS[1:], TypeError, [1, b"a", True, []]),
    (TEXTS, ValueError, ["a\0", "\ud800"]),
    (TOPICS, TypeError, [None, 1, b"/a", []]),
    (WORDS, TypeError, [1, True, b"low", []]),
    (WORDS, ValueError, ["", "loud"]),
    (FLAGS, TypeError, [1, "yes", []]),
    ([_publish_fields], TypeError, [["a"], "a", 1, {1: "a"}, {"a": object()}]),
    ([_publish_field], TypeError, [Variant(t, 5) for t in ("ay", "a{sv}")]),
]


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [(call, error, argument) for calls, error, arguments in WRONG for call in calls for argument in arguments],
)
async def test_a_wrong_argument_is_refused_at_once(call: Call, error: type[Exception], argument: Any) -> None:
    with pytest.raises(error) as refused:
        await soon(as_awaitable(call(Unconnected(), argument)))
    assert type(refused.value).__module__ in ("builtins", "notifyd._errors")


async def as_awaitable(result: Any) -> None:
    if isinstance(result, Awaitable):
        await result


# Topics


def test_a_filter_covers_what_is_at_or_below() -> None:
    post = TopicFilter("/post")
    assert [post.covers(topic) for topic in ("/post", "/post/1", "/posts", "/")] == [True, True, False, False]
    assert TopicFilter("/").covers("/post")
    assert len(post.rules("Event")) == 2 and len(TopicFilter("/").rules("Event")) == 1


@pytest.mark.parametrize(
    "topic", ["", "post", "/post/", "//", "/a'b", "/a\\", "/{a}", "/\x7f", "/\ud800", "/" + "a" * 65, "/a" * 17]
)
def test_what_is_not_a_topic_gets_into_no_match_rule(topic: str) -> None:
    with pytest.raises(notifyd.InvalidTopic, match="is not a topic"):
        TopicFilter(topic)


def test_the_ancestor_of_topics_covers_them_all() -> None:
    assert ancestor(filters(["/run/r1/mate", "/run/r1/invite"])) == "/run/r1"
    assert ancestor(filters(["/run/r1", "/run/r1/invite"])) == "/run/r1"
    assert ancestor(filters(["/run", "/post"])) == ancestor(filters(["/"])) == "/"
    with pytest.raises(ValueError):
        filters([])


# Streams


def event(id: int, topic: str = "/a", **more: Any) -> Event:
    return Event(id, topic, **more)


def page(*ids: int) -> list[RecordedEvent]:
    return [RecordedEvent(event(id)) for id in ids]


def test_a_page_decides_what_is_in_the_stream_and_a_signal_what_is_known_of_it() -> None:
    merge = EventMerge(after=2)
    merge.receive(event(3, window=0.1))
    assert merge.next_request is Request.PAGE
    assert merge.take(page(3, 4)) == [event(3, window=0.1), event(4)]
    assert merge.take([]) == [] and merge.next_request is None
    merge.receive(event(4))
    assert merge.next_request is None, "a repeated signal is not new"


def test_an_event_announced_while_a_page_is_asked_for_needs_another_page() -> None:
    merge = EventMerge(after=0)
    assert merge.take([], announced=[event(1)]) == []
    assert merge.next_request is Request.PAGE
    assert merge.take(page(1)) == [event(1)]


def test_a_stream_from_now_on_begins_with_what_was_announced_first() -> None:
    merge = EventMerge(after=None)
    merge.receive(event(4, replayed=True))
    merge.receive(event(8))
    merge.begin(9)
    assert merge.cursor == 7
    late = EventMerge(after=None)
    late.begin(9)
    assert late.cursor == 9


def test_a_snapshot_corrects_what_signals_told() -> None:
    table = ValueTable()

    def value(id: int, topic: str = "/a") -> Event:
        return event(id, topic, retained=True)

    assert [change.kind for change in table.take(Snapshot(5, [value(3)]))] == ["added"]
    assert table.receive(value(4)) is None, "it is older than the snapshot"
    assert table.receive(event(6)) is None, "it is not a value"
    change = table.receive(value(7))
    assert change is not None and change.kind == "modified"
    assert table.receive(Removal(6, "/a")) is None, "it is older than the value"
    changes = table.take(Snapshot(9, [value(8, "/b")]))
    assert [(change.kind, change.value.id) for change in changes] == [("removed", 7), ("added", 8)]
    gone = table.receive(Removal(10, "/b"))
    assert gone is not None and gone.kind == "removed"


def test_unknown_signals_are_ignored() -> None:
    assert announcement("Event", "s", ("/a",)) is None
    assert announcement("Later", "st", ("/a", 1)) is None


# A connection


@asynccontextmanager
async def bus(folder: Path, serve: Callable[["Peer"], Awaitable[None]]) -> AsyncIterator[str]:
    """A socket with a bus of one's own making."""

    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(Peer(reader, writer))
        finally:
            writer.close()

    server = await asyncio.start_unix_server(
        lambda *streams: tasks.add(asyncio.create_task(accept(*streams))), folder / "bus"
    )
    try:
        yield f"unix:path={folder}/bus"
    finally:
        server.close()
        for task in tasks:
            await soon(asyncio.wait([task]))


class Peer:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._parser = jeepney.Parser()

    async def greet(self) -> None:
        await self.reader.readuntil(b"\r\n")
        self.writer.write(b"OK 1234\r\n")
        await self.reader.readuntil(b"BEGIN\r\n")
        self.answer(await self.receive(), "s", (":1.1",))

    async def receive(self) -> Any:
        while (message := self._parser.get_next_message()) is None:
            data = await self.reader.read(4096)
            if not data:
                raise EOFError
            self._parser.add_data(data)
        return message

    def answer(self, call: Any, signature: str, body: tuple[Any, ...], sender: str = "org.freedesktop.DBus") -> None:
        reply = jeepney.new_method_return(call, signature, body)
        reply.header.fields[jeepney.HeaderFields.sender] = sender
        self.writer.write(reply.serialise(1))


@pytest.mark.parametrize("greeting", [b"", b"REJECTED EXTERNAL\r\n", b"OK 1234\r\n"])
async def test_a_bus_that_ends_the_introduction_is_not_reachable(tmp_path: Path, greeting: bytes) -> None:
    async def serve(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n")
        peer.writer.write(greeting)

    async with bus(tmp_path, serve) as address:
        with pytest.raises(notifyd.NotReachable):
            await soon(Connection.open(address, 20))


async def test_a_bus_that_does_not_answer_is_not_reachable(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.reader.read()

    async with bus(tmp_path, serve) as address:
        with pytest.raises(notifyd.NotReachable, match="does not answer"):
            await soon(Connection.open(address, 0.5))


@pytest.mark.parametrize(
    "address", ["", "tcp:host=localhost,port=1", "unix:path=/nonexistent", "unix:abstract=%00nobody"]
)
async def test_what_is_no_bus_is_not_reachable(address: str) -> None:
    with pytest.raises(notifyd.NotReachable):
        await soon(Connection.open(address, 20))


async def test_only_who_was_called_may_answer(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.greet()
        call = await peer.receive()
        peer.answer(call, "s", ("forged",), sender=":1.66")
        peer.answer(call, "s", ("true",), sender=":1.7")
        await peer.reader.read()

    async with bus(tmp_path, serve) as address:
        connection = await Connection.open(address, 20, is_owner=lambda sender, name: sender == ":1.7")
        assert await connection.call("Get", on="a.b", returns="s", timeout=20) == ("true",)
        connection.close()
        await connection.wait_closed()


async def test_what_cannot_be_read_ends_no_connection_and_loses_no_message(tmp_path: Path) -> None:
    address = jeepney.DBusAddress("/a", None, "a.b")

    async def serve(peer: Peer) -> None:
        await peer.greet()
        # A field of the header and a type of message that nobody knows, and a file descriptor that did not come.
        unknown = bytearray(jeepney.new_signal(address, "B", "s", ("x",)).serialise(1))
        unknown[1] = 9
        descriptor = jeepney.new_signal(address, "C", "u", (7,)).serialise(1).replace(b"\1u\0", b"\1h\0")
        peer.writer.write(bytes(unknown) + descriptor + jeepney.new_signal(address, "D", "s", ("영희",)).serialise(1))
        await peer.reader.read()

    signals: asyncio.Queue[Message] = asyncio.Queue()
    async with bus(tmp_path, serve) as server:
        connection = await Connection.open(server, 20, on_signal=signals.put_nowait)
        signal = await soon(signals.get())
        assert (signal.member, signal.arguments) == ("D", ("영희",))
        connection.close()
        await connection.wait_closed()


@pytest.mark.parametrize("garbage", [b"x" * 16, struct.pack("<cBBBIII", b"l", 4, 0, 1, 1 << 31, 1, 0)])
async def test_garbage_ends_the_connection_and_every_call(tmp_path: Path, garbage: bytes) -> None:
    async def serve(peer: Peer) -> None:
        await peer.greet()
        await peer.receive()
        peer.writer.write(garbage)
        await peer.reader.read()

    lost = asyncio.Event()
    async with bus(tmp_path, serve) as address:
        connection = await Connection.open(address, 20, on_loss=lambda connection: lost.set())
        with pytest.raises(notifyd.NotReachable):
            await soon(connection.call("Get", on="a.b", timeout=20))
        assert lost.is_set() and not connection.is_open
        await connection.wait_closed()


async def test_a_call_has_a_time_limit(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.greet()
        await peer.reader.read()

    async with bus(tmp_path, serve) as address:
        connection = await Connection.open(address, 20)
        with pytest.raises(notifyd.TimedOut, match="0.01 seconds"):
            await connection.call("Get", on="a.b", timeout=0.01)
        connection.close()
        await connection.wait_closed()


async def test_a_call_to_this_program_is_answered(tmp_path: Path) -> None:
    answers: asyncio.Queue[Any] = asyncio.Queue()

    async def serve(peer: Peer) -> None:
        await peer.greet()
        for interface, member in (("org.freedesktop.DBus.Peer", "Ping"), ("a.b", "C")):
            peer.writer.write(jeepney.new_method_call(jeepney.DBusAddress("/", ":1.1", interface), member).serialise(1))
            answers.put_nowait((await peer.receive()).header.message_type)

    async with bus(tmp_path, serve) as address:
        connection = await Connection.open(address, 20)
        assert await soon(answers.get()) is jeepney.MessageType.method_return
        assert await soon(answers.get()) is jeepney.MessageType.error
        connection.close()
        await connection.wait_closed()


def test_every_error_of_the_contract_has_a_class() -> None:
    contract = {"InvalidTopic", "InvalidEvent", "UnknownEvent", "UnknownScreen", "NotClaimant", "TooLarge"}
    contract |= {"LimitExceeded", "StorageUnavailable", "AccessDenied"}
    assert set(notifyd.Refused.names) == {PREFIX + name for name in contract}

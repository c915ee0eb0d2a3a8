"""The client with the real daemon, on private buses, over kills of both."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import jeepney
import pytest
from jeepney.io.asyncio import DBusRouter, open_dbus_connection

import notifyd
from notifyd import Client, Event, EventStream
from rig import Rig, soon, until


@pytest.fixture(name="client")
async def _client(rig: Rig) -> AsyncIterator[Client]:
    async with rig.client() as client:
        yield client


async def take(events: EventStream, count: int) -> list[Event]:
    return [await soon(anext(events)) for _ in range(count)]


async def outcome(client: Client, id: int) -> str:
    return str((await client.explain(id)).get("outcome", ""))


async def becomes(client: Client, id: int, expected: str) -> None:
    async def is_so() -> bool:
        return await outcome(client, id) == expected

    await until(f"event {id} is {expected}", is_so)


async def screens(client: Client) -> list[str]:
    (entries,) = await client._call("ListScreens", "", (), returns="a(tssss)")
    return [f"{topic} {state}" for _, topic, _, state, _ in entries]


async def is_open(client: Client, screen: str, count: int = 1) -> None:
    async def is_so() -> bool:
        with suppress(notifyd.NotReachable):
            return (await screens(client)).count(screen) == count
        return False

    await until(f"the screen {screen} is open {count} times", is_so)


# Publishing and listening


async def test_an_event_arrives_as_it_was_published(client: Client) -> None:
    fields: dict[str, notifyd.Value] = {
        "from": "영희",
        "distance": 5000,
        "pace": 5.5,
        "won": True,
        "raw": b"\0\1",
        "tags": ["a", "b"],
        "mixed": [1, "a"],
        "nested": {"x": -1},
        "small": notifyd.Variant("u", 7),
        "none": [],
    }
    async with client.events("/run") as events:
        id = await client.publish(
            "/run/r1/mate/영희", "제목", "본문", fields, source="runs", event_id="1", window=60, urgency="low", via="mqtt"
        )
        (event,) = await take(events, 1)
    assert (event.id, event.topic, event.title, event.body) == (id, "/run/r1/mate/영희", "제목", "본문")
    expected = dict(fields)
    expected["small"] = 7
    assert event.fields == expected
    assert (event.source, event.event_id, event.replayed, event.retained) == ("runs", "1", False, True)
    assert (event.urgency, event.via, event.silent, event.claimed) == ("low", "mqtt", "route", False)
    assert event.expires is not None
    assert event.window is not None and event.sender is not None and event.published is not None


async def test_a_stream_has_only_its_topics_and_begins_where_it_is_told(client: Client) -> None:
    first = await client.send("/post/1", "one")
    await client.send("/other", "elsewhere")
    await client.send("/posts", "not below it")
    second = await client.send("/post/1/comment", "two")
    async with client.events("/post", after=0) as events, client.events("/post", after=first) as later:
        assert [event.id for event in await take(events, 2)] == [first, second]
        third = await client.send("/post", "three")
        assert [event.id for event in await take(events, 1)] == [third]
        assert [event.id for event in await take(later, 2)] == [second, third]
    with pytest.raises(RuntimeError):
        await anext(events)


async def test_no_event_is_missed_or_repeated_while_daemon_and_bus_are_killed(rig: Rig, client: Client) -> None:
    published: list[int] = []

    async def publish(publisher: Client, count: int) -> None:
        for _ in range(count):
            published.append(await publisher.send(f"/post/{len(published)}"))

    async with client.events("/post") as events:
        await publish(client, 20)
        received = await take(events, 5)
        await rig.restart_daemon()
        await publish(client, 20)
        await rig.restart_bus()
        # Another client publishes before this one has reconnected.
        async with rig.client() as other:
            await publish(other, 20)
            await rig.kill_daemon()
            await rig.start_daemon()
            await publish(other, 1)
        received += await take(events, len(published) - 5)
    assert [event.id for event in received] == published


async def test_a_kill_in_the_middle_of_a_flood_makes_no_gap(rig: Rig, client: Client) -> None:
    accepted: list[int] = []

    async def flood() -> None:
        async with rig.client() as publisher:
            while len(accepted) < 300:
                try:
                    accepted.append(await publisher.publish("/flood", banner=False))
                except notifyd.NotReachable:
                    await asyncio.sleep(0.01)

    async with client.events("/flood") as events:
        flooding = asyncio.create_task(flood())
        received = await take(events, 50)
        await rig.restart_daemon()
        received += await take(events, 50)
        await rig.restart_daemon()
        await soon(flooding)
        while received[-1].id < accepted[-1]:
            received += await take(events, 1)
    ids = [event.id for event in received]
    assert ids == sorted(set(ids))
    # An event whose acknowledgement was lost may have been accepted.
    assert set(accepted) <= set(ids)


async def test_a_stream_waits_for_the_first_daemon(rig: Rig, client: Client) -> None:
    await rig.kill_daemon()
    async with client.events("/post") as events:
        await rig.start_daemon()
        id = await client.send("/post/1")
        assert (await take(events, 1))[0].id == id


async def test_a_stream_is_complete_even_if_no_signal_arrives(client: Client) -> None:
    async with client.events("/post", period=0.05) as events, client.changes("/run", period=0.05) as changes:
        connection = await client._manager.connection()
        for rule in events._subscriber.rules + changes._subscriber.rules:
            connection.remove_match(rule)
        ids = [await client.send("/post/1"), await client.publish("/run/r1/mate/Mina", retain=True)]
        assert (await take(events, 1))[0].id == ids[0]
        assert (await soon(anext(changes))).value.id == ids[1]


async def test_a_stream_reads_a_backlog_of_several_pages(client: Client) -> None:
    # A page has at most 256 KiB.
    ids = [await client.publish("/post/1", body="x" * 8000, banner=False) for _ in range(80)]
    assert len(await client.history("/post")) < len(ids)
    async with client.events("/post", after=0) as events:
        assert [event.id for event in await take(events, len(ids))] == ids


async def test_outcomes_are_announced(rig: Rig, client: Client) -> None:
    async with client.outcomes("/post") as outcomes:
        id = await client.send("/post/1", "Shown")
        news = await soon(anext(outcomes))
        assert (news.id, news.outcome) == (id, "shown")
        assert rig.banners == ["Shown"]
        assert await client.claim(id) == "retracted"
        assert (await soon(anext(outcomes))).outcome == "retracted"


async def test_a_slow_reader_of_outcomes_learns_where_the_gap_is(client: Client) -> None:
    async with client.outcomes("/post", limit=1) as outcomes:
        ids = [await client.publish("/post/1", window=60) for _ in range(3)]
        for id in ids:
            await client.claim(id)
        assert (await soon(anext(outcomes))).id == ids[0]
        with pytest.raises(notifyd.ReaderTooSlow):
            await soon(anext(outcomes))


# Claims


async def test_claims_and_claims_of_topics(client: Client) -> None:
    assert await client.claim(await client.publish("/post/1", window=60)) == "suppressed"
    ids = [await client.publish("/post/2", window=60), await client.publish("/post/2/comment", window=60)]
    assert await client.claim_topic("/post/2", grace=10) == 2
    ids.append(await client.send("/post/2"))
    for id in ids:
        assert await outcome(client, id) == "claimed"


async def test_claims_by_name(client: Client) -> None:
    first = await client.publish("/post/1", window=60, source="chat", event_id="1")
    assert await client.claim_named("chat", "1", device="phone", via="mqtt") == "suppressed"
    verdict = await client.claim_named("chat", "2", done="withdrawn", device="phone", expires=4e9)
    assert verdict == "awaited"
    second = await client.publish("/post/2", window=60, source="chat", event_id="2")
    assert await outcome(client, first) == "claimed"
    assert await outcome(client, second) == "withdrawn"


async def test_a_block_that_succeeds_completes_its_claim(client: Client) -> None:
    id = await client.publish("/post/1", window=60)
    async with client.claim_provisionally(id) as is_held:
        assert is_held
        assert await outcome(client, id) == ""
        async with client.claim_provisionally(id) as is_held_twice:
            assert not is_held_twice
    assert await outcome(client, id) == "claimed"


async def test_a_block_that_raises_releases_its_claim(rig: Rig, client: Client) -> None:
    id = await client.send("/post/1", "Welcome back")
    with pytest.raises(ZeroDivisionError):
        async with client.claim_provisionally(id) as is_held:
            assert is_held
            raise ZeroDivisionError
    await becomes(client, id, "shown")
    assert rig.banners == ["Welcome back"]


async def test_a_block_that_is_cancelled_releases_its_claim(client: Client) -> None:
    id = await client.send("/post/1")
    holding = asyncio.Event()

    async def hold() -> None:
        async with client.claim_provisionally(id):
            holding.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await soon(holding.wait())
    task.cancel()
    await becomes(client, id, "shown")


async def test_a_block_that_takes_too_long_is_told(client: Client) -> None:
    id = await client.send("/post/1")
    with pytest.raises(notifyd.NotClaimant):
        async with client.claim_provisionally(id, within=0.001):
            await becomes(client, id, "shown")


async def test_a_provisional_claim_survives_a_restart_of_the_daemon(rig: Rig, client: Client) -> None:
    id = await client.publish("/post/1", window=60)
    async with client.claim_provisionally(id, within=60) as is_held:
        assert is_held
        await rig.restart_daemon()

        async def is_held_again() -> bool:
            return "ClaimProvisionally" in [step[2] for step in (await client.explain(id)).get("claims", [])]

        await until("the event is held again", is_held_again)
    assert await outcome(client, id) == "claimed"


async def test_a_block_that_ends_without_a_daemon_claims_when_it_is_back(rig: Rig, client: Client) -> None:
    id = await client.publish("/post/1", window=60)

    async def hold() -> None:
        async with client.claim_provisionally(id, within=60) as is_held:
            assert is_held
            await rig.kill_bus()
            await rig.kill_daemon()

    task = asyncio.create_task(hold())
    async with asyncio.TaskGroup() as group:
        group.create_task(soon(asyncio.wait([task])))
        while rig._daemon is not None:
            await asyncio.sleep(0.01)
        await rig.start_bus()
        await rig.start_daemon()
    await task
    assert await outcome(client, id) == "claimed"


async def test_a_claim_at_the_end_of_a_block_takes_the_verdict_for_an_answer(client: Client) -> None:
    # What the end of a block does if the event is not held again after a restart.
    id = await client.publish("/post/1", window=60)
    await client._call_about("Claim", id)
    assert await outcome(client, id) == "claimed"


# Screens


async def test_a_screen_claims_while_it_is_open(client: Client) -> None:
    async with client.screen("/post/27") as screen:
        assert screen.id is not None
        assert await outcome(client, await client.send("/post/27/comment")) == "claimed"
        await screen.update(state="hidden")
        assert await screens(client) == ["/post/27 hidden"]
        assert await outcome(client, await client.publish("/post/27", window=60)) == ""
    assert await screens(client) == []
    with pytest.raises(notifyd.Closed):
        await screen.update(state="focused")


async def test_a_screen_survives_kills_of_daemon_and_bus(rig: Rig, client: Client) -> None:
    async with client.screen("/post/27") as screen:
        await screen.update(state="visible")
        await rig.restart_daemon()
        await is_open(client, "/post/27 visible")
        await rig.kill_daemon()
        await screen.update(state="focused")
        await rig.start_daemon()
        await is_open(client, "/post/27 focused")
        await rig.restart_bus()
        async with rig.client() as other:
            await is_open(other, "/post/27 focused")
            assert await outcome(other, await other.send("/post/27")) == "claimed"
    assert await screens(client) == []


async def test_a_lease_is_renewed_and_a_screen_that_has_ended_is_opened_again(client: Client) -> None:
    async with client.screen("/post/27", lease=1) as screen:
        first = screen.id
        # Another way to end it: the daemon forgets it.
        await client._call("CloseScreen", "t", (first,))

        async def is_renewed() -> bool:
            return screen.id not in (None, first)

        await until("the renewal opens it again", is_renewed)
        assert await screens(client) == ["/post/27 focused"]


async def test_a_screen_that_asks_is_answered_by_its_program(client: Client) -> None:
    async with client.events("/post") as events, client.screen("/post", mode="ask"):
        wanted, unwanted = await client.publish("/post/1", window=60), await client.send("/post/2", "Shown")
        for event in await take(events, 2):
            if event.id == wanted:
                await client.claim(event.id)
            else:
                await client.pass_event(event.id)
        assert await outcome(client, wanted) == "claimed"
        await becomes(client, unwanted, "shown")


async def test_a_cancelled_opening_leaves_no_screen(client: Client) -> None:
    opening = asyncio.create_task(client.screen("/post/27").__aenter__())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await is_open(client, "/post/27 focused", count=0)


# Reading


async def test_unread_events_are_marked_as_read(client: Client) -> None:
    ids = [await client.publish(f"/post/{number}", window=60) for number in range(3)]
    assert await client.unread("/post") == 3
    assert await client.mark_read("/post", up_to=ids[1]) == 2
    assert await client.mark_read() == 1
    assert await client.unread() == 0


async def test_a_button_is_pressed_without_a_banner(client: Client) -> None:
    async with client.actions("/run") as actions:
        id = await client.publish("/run/r1/invite", fields={"from": "Mina"}, window=60)
        with pytest.raises(notifyd.InvalidEvent):
            await client.press(id, "later")
        await client.press(id, "accept")
        action = await soon(anext(actions))
        assert (action.id, action.action) == (id, "accept")
    assert await outcome(client, id) == "claimed"
    with pytest.raises(notifyd.NotClaimant):
        await client.press(id, "accept")


async def test_a_publisher_shows_the_banner_itself(rig: Rig, client: Client) -> None:
    async with client.outcomes("/app") as outcomes:
        id = await client.publish("/app/chat", "Mina", own_banner=True)
        news = await soon(anext(outcomes))
        assert (news.id, news.outcome) == (id, "shown")
        assert await client.claim(id) == "retracted"
        assert (await soon(anext(outcomes))).outcome == "retracted"
    assert rig.banners == []


async def test_a_read_or_undecided_event_cannot_be_snoozed(client: Client) -> None:
    id = await client.publish("/post/1")
    with pytest.raises(notifyd.InvalidEvent):
        await client.snooze(id, 60)
    await becomes(client, id, "shown")
    await client.snooze(id, 60)
    assert await client.claim(id) == "suppressed"
    with pytest.raises(notifyd.InvalidEvent):
        await client.snooze(id, 60)


async def test_values_are_added_modified_and_removed_over_restarts(rig: Rig, client: Client) -> None:
    def told(change: notifyd.Change) -> tuple[str, str, object]:
        return change.kind, change.value.topic, change.value.fields.get("distance")

    async def publish(mate: str, distance: int) -> None:
        await client.publish(f"/run/r1/mate/{mate}", fields={"distance": distance}, retain=True)

    await publish("Mina", 900)
    async with client.changes("/run/r1/mate") as changes:
        assert told(await soon(anext(changes))) == ("added", "/run/r1/mate/Mina", 900)
        await publish("Mina", 1000)
        await publish("영희", 1200)
        assert told(await soon(anext(changes))) == ("modified", "/run/r1/mate/Mina", 1000)
        assert told(await soon(anext(changes))) == ("added", "/run/r1/mate/영희", 1200)
        await rig.restart_daemon()
        await publish("Mina", 1100)
        assert told(await soon(anext(changes))) == ("modified", "/run/r1/mate/Mina", 1100)
        await rig.restart_bus()
        async with rig.client() as other:
            await other.publish("/run/r1/mate/Mina", remove=True)
        assert told(await soon(anext(changes))) == ("removed", "/run/r1/mate/Mina", 1100)
    snapshot = await client.snapshot("/run")
    assert [event.topic for event in snapshot.values] == ["/run/r1/mate/영희"]


async def test_history_is_read_page_by_page(client: Client) -> None:
    ids = [await client.publish("/post/1", banner=False) for _ in range(3)]
    assert [entry.event.id for entry in await client.history("/post", limit=2)] == ids[:2]
    (last,) = await client.history("/post", after=ids[1])
    assert (last.event.id, last.outcome) == (ids[2], "silent")


# Errors


async def test_a_signal_from_another_program_is_ignored(rig: Rig, client: Client) -> None:
    forger = await open_dbus_connection(rig.address)
    address = jeepney.DBusAddress("/org/notifyd/Router1", None, "org.notifyd.Router1")
    async with client.outcomes("/post") as outcomes:
        connection = await client._manager.connection()
        forged = jeepney.new_signal(address, "Resolved", "stsa{sv}", ("/post/1", 1, "claimed", {}))
        # To this connection alone: the bus compares the sender with match rules for broadcasts only.
        forged.header.fields[jeepney.HeaderFields.destination] = connection.unique_name
        async with DBusRouter(forger) as router:
            await router.send(forged)
            # The bus answers after it has delivered the signal.
            bus = jeepney.DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
            await soon(router.send_and_get_reply(jeepney.new_method_call(bus, "GetId")))
        id = await client.publish("/post/1", window=60)
        await client.claim(id)
        assert (await soon(anext(outcomes))).id == id
    await forger.close()


async def test_refusals_are_exceptions_with_the_text_of_the_daemon(client: Client) -> None:
    with pytest.raises(notifyd.InvalidTopic, match="post") as refused:
        await client.send("post")
    assert refused.value.name == "org.notifyd.Router1.Error.InvalidTopic"
    with pytest.raises(notifyd.UnknownEvent):
        await client.claim(1)
    with pytest.raises(notifyd.TooLarge):
        await client.send("/post/1", "x" * 1025)
    with pytest.raises(notifyd.InvalidEvent):
        await client.publish("/post/1", ttl=28 * 86400 + 1)
    with pytest.raises(notifyd.LimitExceeded):
        await client.claim_topic("/post/1", grace=11)
    with pytest.raises(notifyd.InvalidTopic):
        client.events("/post'")
    with pytest.raises(notifyd.InvalidTopic):
        async with client.screen("/post/"):
            pass


async def test_what_cannot_be_sent_is_refused_here_and_the_connection_lives(client: Client) -> None:
    with pytest.raises(ValueError):
        await client.send("/post/1", "\0")
    with pytest.raises(ValueError):
        await client.publish("/post/1", fields={"n": 2**64})
    with pytest.raises(ValueError):
        await client.publish("/post/1", window=-1)
    with pytest.raises(ValueError):
        client.claim_provisionally(1, within=0)
    assert await client.unread() == 0


async def test_without_a_daemon_or_a_bus_calls_fail_and_work_again_later(rig: Rig, client: Client) -> None:
    await rig.kill_daemon()
    with pytest.raises(notifyd.NotReachable):
        await client.send("/post/1")
    await rig.kill_bus()
    with pytest.raises(notifyd.NotReachable):
        await client.send("/post/1")
    with pytest.raises(notifyd.NotReachable):
        async with rig.client():
            pass
    await rig.start_bus()
    await rig.start_daemon()
    await client.send("/post/1")


async def test_a_closed_client_ends_its_streams(rig: Rig) -> None:
    async with rig.client() as client:
        events = await client.events("/").__aenter__()
        reading = asyncio.create_task(anext(events))
        await asyncio.sleep(0)
    with pytest.raises(notifyd.Closed):
        await soon(reading)
    with pytest.raises(notifyd.Closed):
        await client.send("/post/1")


async def test_everything_that_was_committed_is_listed(client: Client) -> None:
    id = await client.publish("/post/27", "news", window=60, source="chat", event_id="17")
    await client.claim(id)
    oldest, changes = await client.journal_changes()
    assert [(change.kind, change.topic, change.id) for change in changes] == [
        ("start", "", 0),
        ("event", "/post/27", id),
        ("outcome", "/post/27", id),
    ]
    assert 0 < oldest == changes[0].number < changes[1].number < changes[2].number
    assert changes[0].details == {"last": 0}
    assert (changes[1].details["title"], changes[2].details["outcome"]) == ("news", "claimed")
    assert await client.journal_changes(changes[1].number, limit=1) == (oldest, changes[2:])
    with pytest.raises(ValueError):
        await client.journal_changes(-1)


async def test_an_older_value_does_not_take_the_place_of_a_newer_one(client: Client) -> None:
    new = await client.publish("/value", retain=True, if_newer=True, published=2_000.0)
    old = await client.publish("/value", retain=True, if_newer=True, published=1_000.0)
    assert [event.id for event in (await client.snapshot("/value")).values] == [new]
    assert "newer value" in (await client.explain(old))["reason"]
    with pytest.raises(notifyd.Refused, match="'if-newer'"):
        await client.publish("/value", if_newer=True)


async def test_topics_are_muted_and_banners_are_paused(client: Client) -> None:
    await client.mute("/post", 3600)
    await becomes(client, await client.publish("/post/1", window=0.01), "muted")
    (quiet,) = await client.quiet()
    assert (quiet.topic, quiet.cause) == ("/post", "muted") and quiet.until is not None
    assert 3500 < quiet.until - time.time() <= 3601
    await client.mute("/post", 0)
    await client.pause()
    assert await client.paused()
    assert [(quiet.topic, quiet.until, quiet.cause) for quiet in await client.quiet()] == [("/", None, "paused")]
    await client.set_paused(False)
    assert not await client.paused() and await client.quiet() == []


async def test_a_sent_event_has_its_urgency(client: Client) -> None:
    async with client.events("/post") as events:
        await client.send("/post/1", "Fire", urgency="critical")
        (event,) = await take(events, 1)
    assert (event.title, event.urgency) == ("Fire", "critical")


async def test_a_topic_on_screen_is_announced(client: Client) -> None:
    async with client.attention("/post") as attention:
        async with client.screen("/post/27"):
            assert await anext(attention) == notifyd.Attention("/post/27", True)
        assert await anext(attention) == notifyd.Attention("/post/27", False)

#!/usr/bin/python3
"""Somebody who may write at the broker and has no key: listens to a link, and then sends everything that does not belong there.

stranger.py PORT USER DEVICE…   prints "listens", and after it has heard a claim and has sent everything, "done N"."""
import json, os, queue, random, sys
import paho.mqtt.client as mqtt

PORT, USER, DEVICES = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
PREFIX = f"notifyd/1/{USER}/"
FOREIGN = "0123456789abcdef0123456789abcdef"
random.seed(27)

heard = queue.Queue()
client = mqtt.Client("stranger", protocol=mqtt.MQTTv5)
client.on_message = lambda client, _, message: heard.put((message.topic, message.payload, message.retain))
client.on_subscribe = lambda *_: print("listens", flush=True)
client.on_connect = lambda client, *_: client.subscribe(PREFIX + "#", 1)
client.connect("127.0.0.1", PORT)
client.loop_start()
client.max_inflight_messages_set(100)

sent = 0


def publish(topic, payload, retain=False):
    global sent
    client.publish(PREFIX + topic, payload, 1, retain).wait_for_publish(30)
    sent += 1


# An event and a claim.
recorded, streams = [], 0
while streams < 2:
    topic, payload, retained = heard.get(timeout=60)
    topic = topic[len(PREFIX):]
    recorded.append((topic, payload, retained))
    streams += topic.startswith("s/") and not retained
client.unsubscribe(PREFIX + "#")

# Replays, also with the mark of what the broker keeps.
for retain in (False, False, True):
    for topic, payload, retained in recorded:
        publish(topic, payload, retained or retain and not topic.startswith("s/"))
# Another's stream: what one device has said as the words of another one, of one that is not there, and of another kind.
for topic, payload, _ in recorded:
    kind, _, name = topic.partition("/")
    for other in [*DEVICES, FOREIGN]:
        for letter in "svdoru":
            if (letter, other) != (kind, name):
                publish(f"{letter}/{other}", payload)
# A wrong key, a wrong nonce, and changed bytes.
for topic, payload, _ in recorded:
    message = json.loads(payload)
    for change in ({"key": "00000000." + FOREIGN}, {"key": message["key"][:9] + FOREIGN}, {"nonce": "AAAAAAAAAAAAAAAA"},
                   {"sealed": message["sealed"][:-8] + "AAAAAAA="}, {"sealed": ""}):
        publish(topic, json.dumps({**message, **change}))
# A future version, and what is not sealed at all.
plain = {"v": 1, "device": DEVICES[0], "at": 1, "kind": "event", "number": 2 ** 62, "previous": 0, "source": "a", "event-id": "b",
         "topic": "/post/27", "title": "forged", "body": "", "published": 1, "expires": 2 ** 62, "fields": {}, "options": {}}
for device in [*DEVICES, FOREIGN]:
    for change in ({}, {"v": 2}, {"v": 2 ** 70}, {"kind": "revolution"}, {"number": -1}, {"device": "x"}):
        publish("s/" + device, json.dumps({**plain, "device": device, **change}))
    publish("o/" + device, json.dumps({"v": 1, "device": device, "at": 1, "kind": "presence", "connection": 2 ** 60, "online": False,
                                       "shared": True}), retain=True)
# Rubbish, and what is far too long.
for letter in "svdoru":
    for device in [*DEVICES, FOREIGN, "x", "a/b/c"]:
        for payload in (b"", b"\0", b"[" * 5000, b"{" * 300, bytes(random.randrange(256) for _ in range(200)), os.urandom(1 << 20)):
            publish(f"{letter}/{device}", payload)
print("done", sent, flush=True)
client.disconnect()

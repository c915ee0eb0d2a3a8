#!/bin/bash
# Everyone hears everything they ask for: busctl, gdbus, dbus-monitor and Python, with the filter on the topic
# done by the bus itself; dbus-send, gdbus and busctl publish; two short Python programs claim.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs dbus-monitor dbus-bin dbus-send dbus-bin
needs_python gi dbus
start_bus
start_mock server
start_daemon <<'TOML'
[defaults]
window = "1s"
TOML
record_signals

POSTS=/post/
MATE=/run/r1/mate/영희/

# --- subscribers, two of each kind that can filter

LISTENERS=()
listener() {
    LISTENERS+=("$1")
    background "$T/heard-$1" "${@:2}"
}
heard() { grep -q -- "$2" "$T/heard-$1"; }

rule() { printf "type='signal',interface='%s',member='Event',arg0path='%s'" $ROUTER "$1"; }

for topic in $POSTS $MATE; do
    [ "$topic" = $POSTS ] && name=posts || name=mate
    listener "busctl-$name" busctl --user --json=short monitor --match="$(rule "$topic")"
    listener "dbus-monitor-$name" dbus-monitor --session "$(rule "$topic")"
    listener "gio-$name" /usr/bin/python3 "$RIGS/listen-gio.py" "$topic"
    listener "dbus-python-$name" /usr/bin/python3 "$RIGS/listen-dbus-python.py" "$topic"
done
listener gdbus gdbus monitor --session --dest $ROUTER # it has no filter, and hears all

# A subscriber is there once it hears; until all do, there is something to hear.
all_hear() {
    send ${POSTS}ready Ready '' > /dev/null
    send ${MATE}ready Ready '' > /dev/null
    local name
    for name in "${LISTENERS[@]}"; do
        heard "$name" /ready || return 1
    done
}
eventually "${#LISTENERS[@]} subscribers of five kinds listen" all_hear

# --- publishers

dbus-send --session --print-reply --dest=$ROUTER $ROUTER_PATH $ROUTER.Send \
    string:${POSTS}27 string:'From dbus-send' string:'somebody commented' > "$T/dbus-send.out" ||
    fail "dbus-send cannot send: $(cat "$T/dbus-send.out")"
id=$(sed -n 's/.*uint64 //p' "$T/dbus-send.out")
[ "${id:-0}" -gt 0 ] || fail "dbus-send is told no id: $(cat "$T/dbus-send.out")"
ok "dbus-send sends a push and is told its id"

gdbus call --session --dest $ROUTER --object-path $ROUTER_PATH --method $ROUTER.Publish \
    ${MATE}finished 'From gdbus' 'five kilometres' "{'distance': <int64 5000>, '이름': <'영희'>}" '{}' \
    > "$T/gdbus.out" || fail "gdbus cannot publish"
ok "gdbus publishes a push with fields under a Korean topic"

busctl --user call $ROUTER $ROUTER_PATH $ROUTER Publish 'sssa{sv}a{sv}' \
    ${POSTS}28/reply 'From busctl' 'an answer' 1 from s Mina 0 > "$T/busctl.out" || fail "busctl cannot publish"
ok "busctl publishes a push with fields"

# --- who heard what

for name in busctl dbus-monitor gio dbus-python; do
    eventually "$name hears of post 27" heard $name-posts ${POSTS}27
    eventually "$name hears of a reply below post 28" heard $name-posts ${POSTS}28/reply
    eventually "$name hears of the mate with the Korean name" heard $name-mate ${MATE}finished
done
eventually "gdbus hears of post 27" heard gdbus ${POSTS}27
eventually "gdbus hears of a reply below post 28" heard gdbus ${POSTS}28/reply
eventually "gdbus hears of the mate with the Korean name" heard gdbus ${MATE}finished
for name in busctl dbus-monitor gio dbus-python; do
    ! heard $name-posts /mate/ || fail "$name-posts hears of a mate, who is not below $POSTS"
    ! heard $name-mate /post/ || fail "$name-mate hears of a post, which is not below $MATE"
done
ok "nobody hears what is not below the topic asked for"

fields=$(grep '^{' "$T/heard-busctl-mate" | jq -c 'select(.payload.data[2] == "From gdbus") | .payload.data[4]')
equal "fields arrive as they were published, with their types" \
    '{"distance":{"type":"x","data":5000},"이름":{"type":"s","data":"영희"}}' "$fields"

# --- claimers

# claims NAME TOPIC PROGRAM: the program is running and claims what it hears.
claims() {
    background "$T/claimed-$1" /usr/bin/python3 "$RIGS/$3" "$2"
    eventually_quiet "$PATIENCE" probe_claimed "$1" "$2" || fail "$3 claims nothing: $(cat "$T/claimed-$1")"
    local id
    id=$(send "$2" "Claimed by $1" 'so no banner')
    eventually "$3 claims on Event" grep -q -x -- "$2 Claimed by $1 suppressed" "$T/claimed-$1"
    eventually "and Resolved says so" outcome_is "$id" claimed
}
probe_claimed() {
    send "$2" Probe '' > /dev/null
    [ -s "$T/claimed-$1" ]
}

claims gio /screen/gio claim-gio.py
claims dbus-python /screen/영희 claim-dbus-python.py

# The window of this event ends after those of the claimed ones.
last=$(send /note/last 'Last' 'and unclaimed')
eventually "an event nobody claims is shown" outcome_is "$last" shown
equal "what the two programs claimed never became a banner" '' \
    "$(calls Notify | jq -r '.[3]' | grep 'Claimed by' || true)"

daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

#!/bin/bash
# Notification servers that come and go: with none the daemon works and keeps what nobody claimed, a new one
# is given it, and ids of one server mean nothing to the next.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
start_bus

start_daemon <<'TOML'
[defaults]
window = "300ms"
TOML
record_signals

# --- none yet, as at login

ok "notifyd starts without a notification server"
claimed=$(send /note/claimed 'Claimed' 'while there is no server')
equal "claims work without a server" suppressed "$(call Claim t "$claimed")"
eventually "and are resolved" outcome_is "$claimed" claimed
first=$(send /note/waiting 'First' 'nobody can show this yet')
waiting=$(send /note/waiting 'Second' 'nor this')
alone=$(send /note/alone 'Alone' 'nor this')
equal "what nobody claimed is pending" 3 "$(property Pending)"
throughout 700 "and stays pending when its window is over" property_is Pending 3
daemon_lives || fail "notifyd has ended"

# --- the first one

start_mock first-server
eventually "a server appears and the first event is shown" outcome_is "$first" shown
eventually "the second too" outcome_is "$waiting" shown
eventually "the one of another topic too" outcome_is "$alone" shown
equal "nothing is pending any more" 0 "$(property Pending)"
equal "two events of one topic were one banner, so there are two" 2 "$(calls Notify | wc -l)"
equal "it says how many" 'Second (2)' "$(calls Notify | jq -r '.[3]' | grep Second)"
equal "no banner for the claimed event" '' "$(calls Notify | jq -r '.[3]' | grep Claimed || true)"

more=$(send /note/alone 'Updated' 'in place')
eventually "a further event of a topic is shown" outcome_is "$more" shown
replaced=$(calls Notify | tail -n 1 | jq -r '.[1]')
equal "in the banner that is there" true "$(jq -r '. == 1 or . == 2' <<< "$replaced")"

# --- gone, and another one comes

stop "$MOCK"
eventually "the server goes" unowned $SERVER
meanwhile=$(send /note/meanwhile 'Meanwhile' 'no server again')
eventually "an event is pending again" property_is Pending 1
start_mock second-server
eventually "another server comes and the event is shown" outcome_is "$meanwhile" shown
again=$(send /note/alone 'New' 'on the new server')
eventually "so is one of a topic that had a banner on the old server" outcome_is "$again" shown
equal "it has an id of its own: nothing stale is replaced" '0 0' "$(calls Notify | jq -r '.[1]' | paste -sd ' ')"

# The old server's banner 1 or 2 is somebody else's on the new one.
equal "the late claim of an event the old server showed has nothing to close" recorded "$(call Claim t "$waiting")"
equal "the late claim of one on the new server has" retracted "$(call Claim t "$meanwhile")"
eventually "that one is closed" calls_are CloseNotification 1
equal "and nothing else" '[1]' "$(calls CloseNotification)"

daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

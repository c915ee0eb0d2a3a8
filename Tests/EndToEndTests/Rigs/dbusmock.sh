#!/bin/bash
# python-dbusmock as the notification server: what exactly notifyd asks of a server, and that a server which
# fails or hangs delays nobody.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
start_bus
start_mock server
needs_python gi

start_daemon <<'TOML'
[defaults]
window = "300ms"
max_window = "300ms"

# Each event has a banner of its own, which can be told from the others.
[banner]
max_per_second = 0
TOML
record_signals

# --- one event, one call

id=$(send /note/1 'A <title>' 'Bread & <b>butter</b>')
eventually "Resolved says it was shown" outcome_is "$id" shown
equal "Notify was called once" 1 "$(calls Notify | wc -l)"
# app_name, replaces_id, app_icon, summary, body, actions, hints, expire_timeout
notify=$(calls Notify)
equal "the application is notifyd" notifyd "$(jq -r '.[0]' <<< "$notify")"
equal "nothing is replaced by a first banner" 0 "$(jq -r '.[1]' <<< "$notify")"
equal "the summary is plain text" 'A <title>' "$(jq -r '.[3]' <<< "$notify")"
equal "the body is escaped for a server with body-markup" 'Bread &amp; &lt;b&gt;butter&lt;/b&gt;' \
    "$(jq -r '.[4]' <<< "$notify")"
equal "there are no actions" '[]' "$(jq -c '.[5]' <<< "$notify")"
equal "the banner is not critical, which would break through \"do not disturb\"" true \
    "$(jq -r '(.[6].urgency.data // 1) < 2' <<< "$notify")"
equal "the server decides how long the banner stays" -1 "$(jq -r '.[7]' <<< "$notify")"

# --- the same topic again, then late claims

second=$(send /note/1 'Another' 'of the same topic')
eventually "a second event of the topic is shown" outcome_is "$second" shown
equal "it updates the banner in place" 1 "$(calls Notify | tail -n 1 | jq -r '.[1]')"
equal "which says how many events it stands for" 'Another (2)' "$(calls Notify | tail -n 1 | jq -r '.[3]')"

equal "a late claim of one of two leaves the banner up" recorded "$(call Claim t "$id")"
equal "so nothing is closed" 0 "$(calls CloseNotification | wc -l)"
equal "the late claim of the other retracts" retracted "$(call Claim t "$second")"
eventually "CloseNotification was called once" calls_are CloseNotification 1
equal "for the banner that was shown" '[1]' "$(calls CloseNotification)"
eventually "Resolved says it was retracted" outcome_is "$second" retracted

# --- servers that misbehave

# timed TOPIC FACT: the median of 30 calls of Send must stay near what it was before.
timed() {
    local median worst
    read -r median worst < <(/usr/bin/python3 "$RIGS/round-trips.py" 30 "$1") || fail "Send does not answer: $2"
    say "    Send takes $median µs, at worst $worst µs, $2"
    [ "$2" != "$USUAL" ] || usual=$median
    # Ten times the usual or 20 ms: far above the noise of a busy machine, far below any wait for a server.
    local limit=$((usual * 10 > 20000 ? usual * 10 : 20000))
    [ "$median" -le $limit ] || fail "Send is slow $2: $median µs, and should be below $limit µs"
    [ "$worst" -le 1000000 ] || fail "one Send waited $2: $worst µs, and should be below 1000000 µs"
    ok "Send answers quickly $2"
}

# misbehave CODE: from now on Notify does that.
misbehave() { mock AddMethod sssss $SERVER Notify 'susssasa{sv}i' u "$1" > /dev/null; }
asked_since() { [ "$(calls Notify | wc -l)" -gt "$1" ]; }

USUAL="with a healthy server"
timed /timed/healthy "$USUAL"

# Otherwise the rest of these banners fails three times, and then nobody is asked for half a minute.
settled() {
    [ "$(busctl --user get-property $ROUTER $ROUTER_PATH $ROUTER Pending)" = "u 0" ]
}
eventually "all banners of the healthy server are up" settled

misbehave 'raise dbus.exceptions.DBusException("boom", name="org.freedesktop.DBus.Error.Failed")'
before=$(calls Notify | wc -l)
failed=$(send /note/failed 'Refused' 'by a server that fails')
eventually "a server that fails was asked" asked_since "$before"
timed /timed/failing "with a server that fails"
equal "what it refused is undecided" '' "$(outcome "$failed")"
daemon_lives || fail "notifyd has ended with a server that fails"
ok "notifyd lives with a server that fails"

# A fresh server, as its owner changes: it must be tried at once, however often the one before has failed.
stop "$MOCK"
eventually "the failing server is gone" unowned $SERVER
start_mock hanging
eventually "a healthy server is given what the failing one refused" outcome_is "$failed" shown

# While Notify hangs, the mock answers nothing at all; SIGSTOP is the harshest form of that.
kill -STOP "$MOCK"
hung=$(send /note/hung 'Unheard' 'by a server that hangs')
timed /timed/hanging "with a server that hangs"
throughout 700 "an event that a hung server was given stays undecided" outcome_is "$hung" ''
timed /timed/hung "with calls waiting for a server that hangs"
equal "claims are answered too" recorded "$(call Claim t "$second")"
daemon_lives || fail "notifyd has ended with a server that hangs"
ok "notifyd lives with a server that hangs"

# --- a server that answers after all, long after its calls were given up

statistic_is() { [ "$(property Statistics | jq -r ".\"$1\"")" = "$2" ]; }
# up TITLE COUNT: so many banners with that title have been asked for and not been closed since.
up() {
    local count
    count=$(jq -rn --arg title "$1" --slurpfile notify <(calls Notify) --slurpfile closed <(calls CloseNotification) '
        reduce $notify[] as $call ({last: 0, up: {}};
            if $call[1] == 0 then .last += 1 | .up["\(.last)"] = $call[3] else .up["\($call[1])"] = $call[3] end)
        | [.up | to_entries[] | select(.key as $id | all($closed[]; .[0] != ($id | tonumber))) | .value]
        | map(select(. == $title)) | length')
    [ "$count" -eq "$2" ]
}

eventually "a server that stays hung is left alone" statistic_is notification-server-rests 1
kill -CONT "$MOCK"
eventually "what the server was asked for is shown once it goes on" outcome_is "$hung" shown
eventually "and only once" up Unheard 1
eventually "the rest is over" statistic_is notification-server-rests 0
equal "the late claim of what appeared late retracts" retracted "$(call Claim t "$hung")"
eventually "and no banner of it is left" up Unheard 0

# --- a server that is killed in the middle of a call

kill -STOP "$MOCK"
before=$(property Statistics | jq '."banner-calls"')
halfway=$(send /note/halfway 'Halfway' 'to a server that is killed')
called_since() { [ "$(property Statistics | jq '."banner-calls"')" -gt "$before" ]; }
eventually "a stopped server is called" called_since
stop "$MOCK" KILL
eventually "the killed server is gone" unowned $SERVER
start_mock healthy
eventually "a healthy server is given what the killed one never answered" outcome_is "$halfway" shown

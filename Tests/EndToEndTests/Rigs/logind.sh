#!/bin/bash
# python-dbusmock as logind on a system bus of our own: while the session is locked or idle every screen counts
# as hidden, and whatever else may be wrong with logind, somebody counts as looking.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
start_bus
start_mock server
needs_python dbusmock gi

LOGIN=org.freedesktop.login1
LOGIN_PATH=/org/freedesktop/login1
SESSION=$LOGIN_PATH/session

# The mock wants a system bus of the usual type; its limits do not matter here.
start_system_bus() {
    sed -e 's|<type>session|<type>system|' -e "s|unix:path=$T/bus|unix:path=$T/system|" "$T/bus.conf" > "$T/system.conf"
    rm -f "$T/system"
    background "$T/system.log" dbus-daemon --config-file="$T/system.conf" --nofork --nopidfile
    SYSTEM_BUS=$!
    eventually_quiet "$PATIENCE" test -S "$T/system" || fail "the private system bus does not start"
}

system_call() { busctl --address="unix:path=$T/system" --json=short call "$@"; }
login_is_there() { system_call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s $LOGIN > /dev/null 2>&1; }

# start_logind NAME
start_logind() {
    background "$T/$1.log" env DBUS_SYSTEM_BUS_ADDRESS="unix:path=$T/system" \
        /usr/bin/python3 -m dbusmock --system -t logind
    LOGIND=$!
    eventually_quiet "$PATIENCE" login_is_there || fail "python-dbusmock does not take the name $LOGIN"
}

# add_session NAME SEAT USER
add_session() {
    system_call $LOGIN $LOGIN_PATH org.freedesktop.DBus.Mock AddSession ssusb "$1" "$2" "$3" somebody true > /dev/null
}
# The mock does not say that it has a new session, as logind does.
announce_session() {
    system_call $LOGIN $LOGIN_PATH org.freedesktop.DBus.Mock EmitSignal sssav $LOGIN.Manager SessionNew so \
        2 s "$1" o "$SESSION/$1" > /dev/null
}
# hint SESSION LockedHint|IdleHint true|false
hint() {
    system_call $LOGIN "$SESSION/$1" org.freedesktop.DBus.Mock UpdateProperties 'sa{sv}' $LOGIN.Session 1 \
        "$2" b "$3" > /dev/null
}

# seat SESSION NAME PATH: the session moves to that seat.
seat() {
    system_call $LOGIN "$SESSION/$1" org.freedesktop.DBus.Properties Set ssv $LOGIN.Session Seat '(so)' "$2" "$3" \
        > /dev/null
}
no_seat() { seat "$1" '' /; }

watched_is() { [ "$(property Statistics | jq '."session-watched"')" = "$1" ]; }

# The screen belongs to a connection that stays: busctl's would be gone before the first event.
open_screen() {
    background "$T/screen.log" /usr/bin/python3 "$RIGS/hold-screen.py" "$1"
    eventually_quiet "$PATIENCE" grep -qs '^open' "$T/screen.log" || fail "the screen does not open"
}

# suppressed FACT, shown FACT: what becomes of an event that the screen covers.
suppressed() { eventually "$1" outcome_is "$(send /post/27/reply 'Covered' 'by the screen')" claimed; }
shown() { eventually "$1" outcome_is "$(send /post/27/reply 'Covered' 'by the screen')" shown; }

# start_watching: a daemon, its signals and the screen.
start_watching() {
    start_daemon <<< "$CONFIGURATION"
    record_signals
    open_screen /post/27
}
CONFIGURATION='[defaults]
window = "100ms"
[banner]
max_per_second = 0
[[route]]
topic = "/post/{id}/reply"
rescue = true'

# --- locked, idle, and back

ME=$(id -u)
start_system_bus
start_logind logind
add_session desktop seat0 "$ME"
add_session stranger seat0 $((ME + 1))
add_session remote seat1 "$ME"
no_seat remote
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$T/system
start_watching
suppressed "a screen of a session that is in use suppresses"
for reason in LockedHint IdleHint; do
    hint desktop $reason true
    eventually "$reason is heard" watched_is 0
    shown "then nobody looks, and the banner is shown"
    hint desktop $reason false
    eventually "the end of $reason is heard" watched_is 1
    suppressed "then the screen suppresses again"
done

# --- the banner for what happened while the user was away

# became_idle SESSION: as a desktop says it, some minutes after the last input.
became_idle() {
    system_call $LOGIN "$SESSION/$1" org.freedesktop.DBus.Mock UpdateProperties 'sa{sv}' $LOGIN.Session 2 \
        IdleHint b true IdleSinceHint t "$(date +%s)000000" > /dev/null
}
grep -qs /notifyd/away "$T/signals" && fail "whoever locks the session was there until then, and is told about nothing"
suppressed "the screen claims an event that nobody sees"
became_idle desktop
eventually "the session is idle" watched_is 0
hint desktop IdleHint false
eventually "the user is told about it" grep -qs '/notifyd/away' "$T/signals"
grep '/notifyd/away' "$T/signals" | grep -q 'while you were away' || fail "the banner does not say why"
equal "once" 1 "$(jq -c 'select(.member == "Event")' "$T/signals" | grep -c '/notifyd/away')"

hint desktop LockedHint true
hint desktop IdleHint true
eventually "nobody looks at a session that is locked and idle" watched_is 0
hint desktop IdleHint false
throughout 300 "nor at one that is locked only" watched_is 0
add_session second seat1 "$ME"
announce_session second
eventually "a second session that is in use is enough" watched_is 1
suppressed "so the screen suppresses"
hint second LockedHint true
eventually "until it is locked as well" watched_is 0

# --- sessions that do not matter

hint stranger LockedHint false
hint remote LockedHint false
throughout 300 "another user's session and one without a seat change nothing" watched_is 0

# --- logind goes and comes back

stop "$LOGIND"
eventually "without logind somebody may be looking" watched_is 1
suppressed "so the screen suppresses without logind"
start_logind logind-restarted
add_session desktop seat0 "$ME"
add_session stranger seat0 $((ME + 1))
hint desktop LockedHint true
eventually "the new logind is listened to" watched_is 0
hint desktop LockedHint false
eventually "and believed" watched_is 1
hint stranger LockedHint true
suppressed "another user's locked session does not matter"

# --- a logind that hangs, a session that ends

kill -STOP "$LOGIND"
suppressed "a logind that hangs delays nobody"
kill -CONT "$LOGIND"
hint desktop LockedHint true
eventually "nobody looks again" watched_is 0
no_seat desktop
eventually "without any session that has a seat somebody may be looking" watched_is 1

# --- the system bus goes

seat desktop seat0 $LOGIN_PATH/seat/seat0
eventually "nobody looks once more" watched_is 0
stop "$SYSTEM_BUS" KILL
eventually "without a system bus somebody may be looking" watched_is 1
daemon_lives || fail "notifyd has ended with the system bus"
suppressed "and notifyd goes on without it"
ticks() { cut -d ' ' -f 14,15 "/proc/$DAEMON/stat" | tr ' ' '+'; }
before=$(($(ticks)))
throughout 500 "the session stays watched" watched_is 1
spent=$(($(ticks) - before))
[ $spent -le 25 ] || fail "notifyd is busy without a system bus: $spent of 50 hundredths of a second"
ok "nor is notifyd busy with it"

# --- none from the start

stop "$DAEMON"
eventually "notifyd has ended" unowned $ROUTER
start_watching
equal "without a system bus from the start somebody may be looking" 1 "$(property Statistics | jq '."session-watched"')"
suppressed "so the screen suppresses without a system bus"

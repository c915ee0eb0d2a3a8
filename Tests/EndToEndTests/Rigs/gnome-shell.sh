#!/bin/bash
# The real GNOME Shell, without a screen: banners outlive a restart of notifyd. The program that has the server's name
# tells the ends of old banners to the connection that showed them, which is gone; the shell tells everybody.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs gnome-shell gnome-shell gjs gjs
needs_python dbusmock gi
NOTIFICATIONS=org.gnome.Shell.Notifications
[ -f /usr/share/dbus-1/services/$NOTIFICATIONS.service ] ||
    skip "gnome-shell has no $NOTIFICATIONS; it comes with GNOME 3.36 and newer"
start_bus

# The shell has the bus start what it needs. Nothing else may be started: another server's service would come first.
mkdir "$T/services"
cp /usr/share/dbus-1/services/$NOTIFICATIONS.service "$T/services"
sed -i "s|</busconfig>|<servicedir>$T/services</servicedir></busconfig>|" "$T/bus.conf"
stop "${PROCESSES[0]}"
rm -f "$T/bus"

# start_bus_at TYPE SOCKET
start_bus_at() {
    sed -e "s|<type>session|<type>$1|" -e "s|unix:path=$T/bus|unix:path=$T/$2|" "$T/bus.conf" > "$T/$1.conf"
    background "$T/$1.log" dbus-daemon --config-file="$T/$1.conf" --nofork --nopidfile
    eventually_quiet "$PATIENCE" test -S "$T/$2" || fail "the private $1 bus does not start"
}
export XDG_SESSION_ID=c1 XDG_SESSION_TYPE=wayland XDG_CURRENT_DESKTOP=GNOME GSETTINGS_BACKEND=memory
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$T/system
start_bus_at session bus
start_bus_at system system

LOGIN=org.freedesktop.login1
background "$T/logind.log" /usr/bin/python3 -m dbusmock --system -t logind
login_call() { busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" --json=short call "$@" > /dev/null 2>&1; }
login_is_there() { login_call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s $LOGIN; }
eventually_quiet "$PATIENCE" login_is_there || fail "python-dbusmock does not take the name $LOGIN"
login_call $LOGIN /org/freedesktop/login1 org.freedesktop.DBus.Mock AddSession ssusb c1 seat0 "$(id -u)" somebody true

start_shell() {
    background "$T/gnome-shell.log" gnome-shell --unsafe-mode --headless --wayland --no-x11 --virtual-monitor 1024x600
    SHELL_PROCESS=$!
}
# in_shell SCRIPT: what the shell's JavaScript makes of it.
in_shell() {
    busctl --user --timeout=10 --json=short call org.gnome.Shell /org/gnome/Shell org.gnome.Shell Eval s "$1" |
        jq -r '.data[1] | fromjson'
}
# The name is there before the shell can show anything.
shows() {
    busctl --user --timeout=5 call $SERVER $SERVER_PATH $SERVER GetCapabilities 2> /dev/null | grep -q '"body"'
}
shell_is_there() {
    if gone "$SHELL_PROCESS"; then fail "gnome-shell has ended"; fi
    owned $SERVER && shows && [ "$(in_shell '!imports.ui.main.layoutManager._startingUp' 2> /dev/null)" = true ]
}
# Now and then the shell hangs as it starts, long before it hears of notifyd.
for attempt in 1 2 3; do
    start_shell
    if eventually_quiet 20 shell_is_there; then break; fi
    [ "$attempt" -lt 3 ] || fail "GNOME Shell does not start"
    stop "$SHELL_PROCESS" KILL
    # The bus may notice later than we do, and a new shell ends where the name is taken.
    eventually_quiet "$PATIENCE" unowned org.gnome.Shell || fail "the bus does not notice that GNOME Shell is gone"
done

# Those of programs; the shell has a few of its own.
ALL="imports.ui.main.messageTray.getSources()
    .filter(source => source.constructor.name === 'FdoNotificationDaemonSource')
    .flatMap(source => source.notifications)"
# has TITLE …: these notifications are there, and no others; in the order of the alphabet.
has() { [ "$(in_shell "$ALL.map(one => one.title).sort().join('\\n')")" = "$(printf '%s\n' "$@")" ]; }
# for_each TITLE DO
for_each() { in_shell "$ALL.filter(one => one.title === '$1').forEach(one => $2); ''" > /dev/null; }
dismiss() { for_each "$1" 'one.destroy(imports.ui.messageTray.NotificationDestroyedReason.DISMISSED)'; }
press() { for_each "$1" 'one.actions[0].callback()'; }

CONFIGURATION='[defaults]
window = "100ms"
[banner]
max_per_second = 0

[[route]]
topic = "/question/{id}"
resident = true
actions = [ { key = "answer", label = "Answer" } ]'
start_daemon <<< "$CONFIGURATION"
record_signals

# show TOPIC TITLE: its id is in ID.
show() {
    ID=$(send "$1" "$2" 'words')
    eventually "\"$2\" is shown" outcome_is "$ID" shown
}
# The shell keeps three of one program.
show /note/claimed Claimed
claimed=$ID
show /note/kept Kept
show /question/7 Question
question=$ID
eventually "the shell has all of them" has Claimed Kept Question

stop "$DAEMON" KILL
eventually "notifyd is killed" unowned $ROUTER
start_daemon <<< "$CONFIGURATION"
eventually "another one knows the server" server_is_known

equal "a claim of its topic takes a banner down" 1 "$(call ClaimTopic su /note/claimed 0)"
eventually "which the shell has closed" has Kept Question
eventually "Resolved says it was retracted" outcome_is "$claimed" retracted

show /note/kept Kept
eventually "a further event updates its banner" has 'Kept (2)' Question

press Question
invoked() {
    jq -n -e "any(inputs; .member == \"ActionInvoked\" and .payload.data == [\"/question/7\", $question, \"answer\"])" \
        "$T/signals" > "$T/invoked"
}
eventually "a button of an old banner is announced" invoked
equal "once" 1 "$(jq -c 'select(.member == "ActionInvoked")' "$T/signals" | wc -l)"
dismiss Question
eventually "a dismissal in the shell is recorded" outcome_is "$question" dismissed
dismiss 'Kept (2)'
eventually "and the end of the one that was updated" outcome_is "$ID" dismissed
daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

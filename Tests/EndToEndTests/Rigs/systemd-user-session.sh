#!/bin/bash
# The third part of systemd-user.sh, run as the user, in a session that ends with this script.

source "$(dirname "$0")/rig.bash"
RECORDS=$1/records
BUS=$2
T=$(mktemp -d "$HOME/session.XXXXXX")
trap 'rig_end "$BASH_COMMAND"' EXIT
ln -s "$RECORDS" "$T/journal.log"
cd "$HOME"

unit() { systemctl --user show --value --property="$1" notifyd.service; }
unit_is() { [ "$(unit "$1")" = "$2" ]; }
configure() { cat > "$HOME/.config/notifyd/config.toml"; }

# records FILTER: the journal records of notifyd that pass jq's filter, one a line.
records() { jq -c "select(.SYSLOG_IDENTIFIER == \"notifyd\") | select($1)" "$RECORDS"; }
recorded() { [ -n "$(records "$1")" ]; }

# processes NAME: the ids of all processes of that name; the namespace holds none of anybody else.
processes() { grep -l -x -- "$1" /proc/[0-9]*/comm 2> /dev/null | cut -d / -f 3; }

owner_process() {
    busctl --user --json=short call org.freedesktop.DBus / org.freedesktop.DBus GetConnectionUnixProcessID s "$1" |
        jq -r '.data[0]'
}

# --- a session: a manager and a bus

mkdir -p "$HOME/.config/systemd/user" "$HOME/.config/notifyd"
# By name, or the alias of an installed dbus-broker would decide which bus this is.
if [ "$BUS" = dbus-broker ]; then
    cp /usr/lib/systemd/user/dbus-broker.service "$HOME/.config/systemd/user/dbus.service"
else
    cp /usr/lib/systemd/user/dbus.service "$HOME/.config/systemd/user/dbus.service"
fi
background "$T/manager.log" /lib/systemd/systemd --user --log-target=console
MANAGER=$!
eventually_quiet "$PATIENCE" test -S "$XDG_RUNTIME_DIR/systemd/private" || fail "the user manager does not start"
systemctl --user start dbus.socket || fail "the bus of the session does not start"
start_mock server
record_signals
# Records of single events are of the level debug; at the default level the journal gets what happens to notifyd.
configure <<'TOML'
[defaults]
window = "200ms"
[log]
level = "debug"
TOML

# --- started by the first call

equal "notifyd is installed and not running" inactive "$(unit ActiveState)"
begun=$(milliseconds)
id=$(send /post/27 'A confidential title' 'A confidential body') || fail "no call starts notifyd"
took=$(($(milliseconds) - begun))
ok "a call of Send starts it ($took ms with the answer) and gives an id"
equal "systemd has started it, not the bus" active "$(systemctl --user is-active notifyd)"
equal "the name belongs to the unit's process" "$(unit MainPID)" "$(owner_process $ROUTER)"
[ -n "$(unit StatusText)" ] || fail "notifyd tells systemd no status"
systemctl --user status --no-pager notifyd > "$T/status.txt" 2>&1 || fail "systemctl status fails"
grep -q "Status: \"$(unit StatusText)\"" "$T/status.txt" || fail "systemctl status shows no status text"
ok "systemctl status says: $(unit StatusText)"
eventually "the event that started it is shown" outcome_is "$id" shown
claimed=$(send /run/r1/mate/영희/finished 'A confidential title' 'A confidential body')
equal "and another is claimed" suppressed "$(call Claim t "$claimed")"
eventually "which is resolved" outcome_is "$claimed" claimed

# --- what the journal gets

of_event() { recorded ".NOTIFYD_EVENT_ID == \"$1\" and .NOTIFYD_TOPIC == \"$2\""; }
eventually "the journal has a record of the first event with id and topic" of_event "$id" /post/27
eventually "and one of the second, whose topic is Korean" of_event "$claimed" /run/r1/mate/영희/finished
complete='.MESSAGE and .PRIORITY and (.MESSAGE_ID // "" | test("^[0-9a-f]{32}$"))'
equal "every record of an event has MESSAGE, PRIORITY and MESSAGE_ID" '' \
    "$(records ".NOTIFYD_EVENT_ID and ($complete | not)")"
equal "no record of any kind has a title or a body in it" 0 "$(grep -c confidential "$RECORDS" || true)"

# --- the timer of the examples

cp "$RIGS"/../../../examples/systemd/stretch.* "$HOME/.config/systemd/user/"
mkdir -p "$HOME/.config/systemd/user/stretch.timer.d"
printf '[Timer]\nOnActiveSec=0\nAccuracySec=1us\n' > "$HOME/.config/systemd/user/stretch.timer.d/now.conf"
systemctl --user set-environment "PATH=$HOME/.local/bin:$PATH"
systemctl --user daemon-reload
systemctl --user start stretch.timer || fail "the timer cannot be started"
stretched() { [ "$(call History stu /reminder/stretch 0 10 | jq length)" -ge 1 ]; }
eventually "the timer of the examples sends its push" stretched
equal "and its service has done well" success "$(systemctl --user show --value --property=Result stretch.service)"
systemctl --user stop stretch.timer

# --- reload

configure <<'TOML'
[defaults]
window = "250ms"
TOML
process=$(unit MainPID)
systemctl --user reload notifyd || fail "systemctl reload fails"
eventually "reload applies a changed configuration" property_is DefaultWindowMilliseconds 250
configure <<'TOML'
[defaults]
windw = "300ms"
TOML
systemctl --user reload notifyd || fail "systemctl reload fails with a bad configuration"
eventually "a bad configuration is reported with its line" recorded \
    '(.PRIORITY | tonumber) <= 4 and ([.[]] | join(" ") | test("windw") and test("\\b2\\b"))'
eventually "notifyd is running all the same" unit_is ActiveState active
equal "in the same process" "$process" "$(unit MainPID)"
equal "with the configuration it had" 250 "$(property DefaultWindowMilliseconds)"
# The example with all its settings in force, not only as a text of comments.
sed 's/^#\([^ ]\)/\1/' "$HOME/.local/share/doc/notifyd/config.toml" | configure
systemctl --user reload notifyd || fail "systemctl reload fails after a bad configuration"
eventually "and takes the next one that is right, the installed example" property_is DefaultWindowMilliseconds 100

# --- killed

before=$(owner $ROUTER)
kill -KILL "$process"
new_owner() { [ -n "$(owner $ROUTER)" ] && [ "$(owner $ROUTER)" != "$before" ]; }
eventually "killed, it is back and owns its name" new_owner
equal "it was restarted by systemd" 1 "$(unit NRestarts)"
[ "$(unit MainPID)" != "$process" ] || fail "the process is the one that was killed"
id=$(send /post/28 'After' 'the kill')
eventually "and it works" outcome_is "$id" shown

# --- stopped

begun=$(milliseconds)
systemctl --user stop notifyd || fail "systemctl stop fails"
took=$(($(milliseconds) - begun))
[ $took -lt 1000 ] || fail "stopping took $took ms, and should take less than 1000 ms"
ok "it stops within a second ($took ms)"
equal "as a success" success "$(unit Result)"
equal "it leaves no process" '' "$(processes notifyd)"
equal "it leaves no name on the bus" '' "$(owner $ROUTER)"
equal "it leaves nothing in the runtime directory" '' \
    "$(find "$XDG_RUNTIME_DIR" -name '*notifyd*' 2> /dev/null || true)"

# --- started by the session, watched by the watchdog

systemctl --user enable --quiet notifyd || fail "systemctl enable fails"
equal "it can be enabled for every session" enabled "$(systemctl --user is-enabled notifyd)"
systemctl --user disable --quiet notifyd
equal "and disabled" disabled "$(systemctl --user is-enabled notifyd || true)"
mkdir -p "$HOME/.config/systemd/user/notifyd.service.d"
printf '[Service]\nWatchdogSec=1\n' > "$HOME/.config/systemd/user/notifyd.service.d/watchdog.conf"
systemctl --user daemon-reload
systemctl --user start notifyd || fail "systemctl start fails"
process=$(unit MainPID)
throughout 1500 "it lives on when it is idle for longer than the watchdog allows" unit_is MainPID "$process"
before=$(owner $ROUTER)
kill -STOP "$process"
eventually "stuck, it is killed by the watchdog and started anew" new_owner

# --- the bus goes

# Not by SIGKILL: a manager of systemd 252 that misses its bus before it misses the process waits for itself.
before=$(unit MainPID)
systemctl --user restart dbus.service || fail "the bus cannot be restarted"
gone_with_bus() { gone "$before"; }
eventually "it does not outlive its bus" gone_with_bus
# Asking who owns the name does not start notifyd.
back() { [ -n "$(owner $ROUTER)" ]; }
eventually "with the next bus it is back" back
[ -n "$(send /post/29 'Back' 'on a new bus')" ] || fail "it does not answer on the new bus"
ok "and it works"

rm -r "$HOME/.config/systemd/user/notifyd.service.d"
systemctl --user exit || fail "the session cannot be ended"
session_over() { gone "$MANAGER"; }
eventually "the session ends" session_over
equal "and leaves no process" '' "$(processes notifyd)"

#!/bin/bash
# The third part of bad-configuration.sh, run as the user, in a session that ends with this script.

source "$(dirname "$0")/rig.bash"
RECORDS=$1/records
BUS=$2
CGROUP=$3
T=$(mktemp -d "$HOME/session.XXXXXX")
trap 'rig_end "$BASH_COMMAND"' EXIT
ln -s "$RECORDS" "$T/journal.log"
cd "$HOME"
PATH=$HOME/.local/bin:$PATH
UNIT_FOLDER=$HOME/.config/systemd/user
FILE=$HOME/.config/notifyd/config.toml

unit() { systemctl --user show --value --property="$1" notifyd.service; }
unit_is() { [ "$(unit "$1")" = "$2" ]; }
configure() { cat > "$FILE"; }
good() { configure <<< $'[defaults]\nwindow = "230ms"'; }
bad() { configure <<< $'[defaults]\nwindw = "1s"'; }
drop_in() { mkdir -p "$UNIT_FOLDER/notifyd.service.d" && cat > "$UNIT_FOLDER/notifyd.service.d/$1.conf"; }

# timed COMMAND …: its output goes to $T/said, its exit code to $code, the milliseconds it took to $took.
timed() {
    local begun
    begun=$(milliseconds)
    code=0
    "$@" > "$T/said" 2>&1 || code=$?
    took=$(($(milliseconds) - begun))
}
# says FACT TEXT MILLISECONDS: the last timed command failed in that time, and said the text. On an idle machine it takes less
# than a second; without an answer it would take 25 seconds or more.
says() {
    [ $code -ne 0 ] || fail "$1: it succeeds"
    grep -q -F -- "$2" "$T/said" || fail "$1: it says \"$(cat "$T/said")\", and should say \"$2\""
    [ $took -lt "$3" ] || fail "$1: it took $took ms, and should take less than $3 ms"
    ok "$1 ($took ms)"
}
busctl_send() { busctl --user --timeout=30 call $ROUTER $ROUTER_PATH $ROUTER Send sss /post/27 t b; }

mkdir -p "$UNIT_FOLDER" "$HOME/.config/notifyd"
rm -rf "$UNIT_FOLDER/notifyd.service.d"
# By name, or the alias of an installed dbus-broker would decide which bus this is.
if [ "$BUS" = dbus-broker ]; then
    cp /usr/lib/systemd/user/dbus-broker.service "$UNIT_FOLDER/dbus.service"
else
    cp /usr/lib/systemd/user/dbus.service "$UNIT_FOLDER/dbus.service"
fi
# shellcheck disable=SC2016 # the dollars are the inner shell's
background "$T/manager.log" bash -c \
    'for own in "$@"; do [ ! -d "$own" ] || echo $$ > "$own/cgroup.procs"; done
     exec /lib/systemd/systemd --user --log-target=console' \
    manager /sys/fs/cgroup{,/*}/"$CGROUP/user@$(id -u).service"
MANAGER=$!
eventually_quiet "$PATIENCE" test -S "$XDG_RUNTIME_DIR/systemd/private" || fail "the user manager does not start"
systemctl --user start dbus.socket || fail "the bus of the session does not start"

# --- started by a call

bad
timed busctl_send
says "with a bad configuration the call that starts notifyd is answered at once" "$FILE:2:1: " 10000
for _ in $(seq 13); do
    timed busctl_send
    [ $code -ne 0 ] && [ $took -lt 10000 ] || fail "a later call is answered with $code after $took ms: $(cat "$T/said")"
done
timed busctl_send
says "so is the 15th" "$FILE:2:1: " 10000
timed busctl --user --timeout=30 get-property $ROUTER $ROUTER_PATH $ROUTER Version
says "so is a question for a property" "$FILE:2:1: " 10000
timed notifyctl send post 27
says "notifyctl names the place" "$FILE:2:1: " 10000
equal "and exits with 78" 78 $code
timed notifyctl status
says "so does its status" "$FILE:2:1: " 10000
timed notifyctl doctor
says "and its doctor" "$FILE:2:1: " 10000
eventually "then the unit fails" unit_is ActiveState failed
equal "with the status 78" 78 "$(unit ExecMainStatus)"
systemctl --user status --no-pager notifyd > "$T/status.txt" 2>&1 || true
grep -q 'status=78' "$T/status.txt" || fail "systemctl status does not show why: $(cat "$T/status.txt")"
ok "which systemctl status shows"
timed notifyctl status
says "of a unit that has failed notifyctl status names the place too" "$FILE:2:1: " 10000
equal "and exits with 78" 78 $code
timed busctl_send
says "the next call is answered at once again" "$FILE:2:1: " 10000
good
timed busctl_send
equal "a call after the correction works, in the process that is there" 0 $code
equal "with the corrected configuration" 230 "$(property DefaultWindowMilliseconds)"
equal "and the unit is active" active "$(unit ActiveState)"

bad
systemctl --user stop notifyd
timed busctl_send
says "stopped, it is started again by a call, which is answered" "$FILE:2:1: " 10000
systemctl --user stop notifyd || fail "it cannot be stopped"
good
timed busctl_send
equal "stopped and corrected, it works" 0 $code

# --- started by hand

bad
systemctl --user stop notifyd
systemctl --user reset-failed notifyd 2> /dev/null || true
timed systemctl --user start notifyd
says "systemctl start fails without waiting for callers" "failed" 10000
equal "with the status 78" 78 "$(unit ExecMainStatus)"

# --- reloaded

good
systemctl --user start notifyd || fail "it does not start with a good configuration"
process=$(unit MainPID)
systemctl --user reload notifyd || fail "a good configuration cannot be reloaded"
bad
timed systemctl --user reload notifyd
says "systemctl reload fails with a bad configuration" "failed" 10000
recorded() { jq -c "select(.SYSLOG_IDENTIFIER == \"notifyd\") | select($1)" "$RECORDS" | grep -q .; }
eventually "the journal says where the mistake is" recorded '.MESSAGE_ID == "349cf832c5ef476ea22dca60585994d1" and
    ([.[]] | join(" ") | test("config.toml:2:1"))'
equal "notifyd keeps running" "$process" "$(unit MainPID)"
equal "with the configuration it had" 230 "$(property DefaultWindowMilliseconds)"
systemctl --user stop notifyd

# --- a unit that cannot start for other reasons

good
drop_in program <<< $'[Service]\nExecStart=\nExecStart=/nowhere/notifyd'
systemctl --user daemon-reload
timed notifyctl send post 27
says "notifyctl says that the program is missing" "203" 10000
equal "and exits with 69" 69 $code
drop_in program <<< $'[Unit]\nStartLimitBurst=1\nStartLimitIntervalSec=60\n[Service]\nExecStart=\nExecStart=/bin/false\nRestart=no'
systemctl --user daemon-reload
systemctl --user reset-failed notifyd
systemctl --user start notifyd 2> /dev/null || true
timed notifyctl status
says "the status says that the unit has failed" "exit status 1" 10000
timed notifyctl send post 27
says "notifyctl says what to do with a unit that was started too often" "reset-failed notifyd" 10000
rm -r "$UNIT_FOLDER/notifyd.service.d"
systemctl --user mask notifyd 2> /dev/null
systemctl --user daemon-reload
timed notifyctl send post 27
says "or that it is masked" "masked" 10000
systemctl --user unmask notifyd 2> /dev/null
systemctl --user daemon-reload
systemctl --user reset-failed notifyd 2> /dev/null || true
timed notifyctl send post 27
equal "with the unit as it was, it works" 0 $code

systemctl --user exit || fail "the session cannot be ended"
session_over() { gone "$MANAGER"; }
eventually "the session ends" session_over

#!/bin/bash
# The third part of no-namespaces.sh, run as the user, in a session that ends with this script.

source "$(dirname "$0")/rig.bash"
CGROUP=$2
T=$(mktemp -d "$HOME/session.XXXXXX")
trap 'rig_end "$BASH_COMMAND"' EXIT
cd "$HOME"
PATH=$HOME/.local/bin:$PATH

! unshare --user true 2> /dev/null || fail "users may make user namespaces"
# shellcheck disable=SC2016 # the dollars are the inner shell's
background "$T/manager.log" bash -c \
    'for own in "$@"; do [ ! -d "$own" ] || echo $$ > "$own/cgroup.procs"; done
     exec /lib/systemd/systemd --user --log-target=console' \
    manager /sys/fs/cgroup{,/*}/"$CGROUP/user@$(id -u).service"
eventually_quiet "$PATIENCE" test -S "$XDG_RUNTIME_DIR/systemd/private" || fail "the user manager does not start"
systemctl --user start dbus.socket || fail "the bus of the session does not start"
start_mock server

finding() { { notifyctl doctor --json=short || true; } | jq -r ".findings[] | select(.check == \"$1\") | .$2"; }

status=0
notifyctl send /a 'A title' > "$T/send.log" 2>&1 || status=$?
equal "the unit does not start" "69 217" "$status $(systemctl --user show --value --property=ExecMainStatus notifyd)"
reason='failed with 217: users get no user namespaces on this system (user.max_user_namespaces=0)'
grep -qF "$reason" "$T/send.log" || fail "who sends is not told why"
equal "the doctor names the setting" "$reason" "$(finding unit state)"
remedy=$(finding unit advice)
[[ $(< "$T/send.log") == *"$remedy"* ]] || fail "who sends is told something else to do"
sh -c "${remedy#*: }" || fail "what the doctor advises cannot be done: $remedy"
equal "with what it advises, notifyd runs" active "$(systemctl --user show --value --property=ActiveState notifyd)"
notifyctl send /a 'A title' > "$T/send.log" 2>&1 || fail "it takes no event"
equal "in the rest of its sandbox" "system calls and no new privileges; namespaces.conf is left out" "$(finding sandbox state)"

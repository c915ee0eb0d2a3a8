#!/bin/bash
# The second part of users.sh, run as root in a mount namespace of its own: users and sessions that only exist there.

# shellcheck source=rig.bash
source "$2/rig.bash"
T=$1
trap 'namespace_end "$BASH_COMMAND"' EXIT
namespace_end() {
    local status=$? index
    trap - EXIT
    set +e
    [ $status -eq 0 ] || [ -n "$REPORTED" ] || (fail "a command ended with status $status: $1")
    for ((index = ${#PROCESSES[@]} - 1; index >= 0; index--)); do stop "${PROCESSES[index]}"; done
    exit $status
}

# Nobody else has these numbers, and nothing outside of the namespace sees the names. The folder is mounted and not the files:
# a mounted file is gone as soon as another rig adds a user outside, which replaces the file below it.
cp -a /etc "$T/etc"
for user in mina:64201 yuna:64202 tom:64203; do
    printf '%s:x:%s:%s::%s:/bin/sh\n' "${user%:*}" "${user#*:}" "${user#*:}" "$T/home-${user%:*}" >> "$T/etc/passwd"
    printf '%s:x:%s:\n' "${user%:*}" "${user#*:}" >> "$T/etc/group"
done
printf 'runners:x:64210:mina\n' >> "$T/etc/group"
mount --bind "$T/etc" /etc
mkdir -p /run/user
mount -t tmpfs -o mode=755 tmpfs /run/user

# as USER COMMAND …: with the environment of a session. In the background it is the process itself,
# so that `stop` ends the program and not a shell around it.
as() {
    local user=$1
    shift
    ${EXEC-} setpriv --reuid="$user" --regid="$user" --init-groups env --ignore-environment PATH="$T/bin:/usr/bin:/bin" \
        HOME="$T/home-$user" XDG_RUNTIME_DIR="/run/user/$(id -u "$user")" XDG_DATA_DIRS="$T/home-$user" \
        DBUS_SESSION_BUS_ADDRESS="unix:path=/run/user/$(id -u "$user")/bus" \
        DBUS_SYSTEM_BUS_ADDRESS="unix:path=$T/no-system-bus" SWIFT_BACKTRACE=enable=no "$@"
}
in_background() { EXEC=exec background "$1" as "${@:2}"; }
owns_name() { as "$1" busctl --user --timeout=5 status $ROUTER > /dev/null 2>&1; }

# log_in USER: a session with a bus; without --no-daemon, notifyd runs in it.
log_in() {
    local folder
    folder=/run/user/$(id -u "$1")
    install -d -m 700 -o "$1" -g "$1" "$folder" "$T/home-$1"
    in_background "$T/bus-$1.log" "$1" dbus-daemon --session --address="unix:path=$folder/bus" --nofork --nopidfile
    eventually_quiet "$PATIENCE" test -S "$folder/bus" || fail "the bus of $1 does not start"
    [ "${2-}" != --no-daemon ] || return 0
    in_background "$T/notifyd-$1.log" "$1" "$T/bin/notifyd"
    eventually_quiet "$PATIENCE" owns_name "$1" || fail "the notifyd of $1 does not start"
}

log_in mina
log_in yuna
log_in tom --no-daemon

# notifyctl as root, as sudo would start it.
ctl() { env -u DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR=/run/user/0 "$T/bin/notifyctl" "$@"; }
titles() { as "$1" notifyctl history --json=short | jq -r .title | tr '\n' ' '; }
expect_status() {
    local fact=$1 wanted=$2 status=0
    shift 2
    "$@" > "$T/out" 2> "$T/err" || status=$?
    equal "$fact" "$wanted" "$status"
}

! DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/64201/bus busctl --user list > /dev/null 2>&1 || fail "root is let in"
ok "the bus of a user takes no connection of root"

id=$(ctl send --user mina /machine/restart "one" --no-banner)
equal "root sends to a user by name" "one " "$(titles mina)"
equal "it prints the id" "$(as mina notifyctl history --json=short | jq .id)" "$id"
ctl send --user 64202 /machine/restart "two" --no-banner > /dev/null
equal "and by number" "two " "$(titles yuna)"
equal "JSON names the user" "mina" "$(ctl send --user mina /a x --no-banner --json=short | jq -r .user)"
ctl status --user yuna > "$T/out"
ok "status shows the daemon of a user"

# The process that connects has the user's groups, and none of root's rights.
background "$T/waiting.log" env -u DBUS_SESSION_BUS_ADDRESS \
    "$T/bin/notifyctl" send --user mina /a title --wait --timeout 20s --window 60s
facts=/proc/$!/status
runs_as_mina() { [ "$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "$facts")" = "64201 64201 64201 64201" ]; }
eventually "notifyctl becomes the user" runs_as_mina
equal "with the user's group" "64201 64201 64201 64201" "$(awk '/^Gid:/ { print $2, $3, $4, $5 }' "$facts")"
equal "and groups" "64201 64210" "$(awk '/^Groups:/ { print $2, $3 }' "$facts")"
equal "and no capabilities" "0000000000000000 0000000000000000" "$(awk '/^Cap(Prm|Eff):/ { print $2 }' "$facts" | xargs)"
claimable() { as mina notifyctl claim-topic /a > /dev/null; }
eventually_quiet "$PATIENCE" claimable || fail "the event of the waiting notifyctl does not come"
eventually "and prints the outcome" grep -q claimed "$T/waiting.log"

printf 'from standard input\n' > "$T/body"
expect_status "one of three failed" 69 ctl send --all-users /machine/all "three" - --no-banner < "$T/body"
equal "the others have the event" "three three" "$(titles mina | xargs -n1 | tail -1) $(titles yuna | xargs -n1 | tail -1)"
equal "with the body" "from standard input" "$(as yuna notifyctl history /machine/all --json=short | jq -r .body)"
equal "a line for each names the user" "mina yuna" "$(cut -d: -f1 "$T/out" | xargs)"
grep -q '^notifyctl: tom: notifyd is not on this bus' "$T/err" || fail "the failure is not told by name: $(cat "$T/err")"
ok "the failure is told by name"
in_background "$T/notifyd-tom.log" tom "$T/bin/notifyd"
eventually_quiet "$PATIENCE" owns_name tom || fail "the notifyd of tom does not start"
expect_status "none failed" 0 ctl send --all-users /machine/all "four" --no-banner --json=short
equal "JSON has the users" "mina yuna tom" "$(jq -r .user "$T/out" | xargs)"

expect_status "without root no other user" 77 as mina notifyctl send --user yuna /a x
grep -q 'Only root may use --user' "$T/err" || fail "it says: $(cat "$T/err")"
expect_status "nor all" 77 as mina notifyctl send --all-users /a x
expect_status "but oneself" 0 as mina notifyctl send --user mina /a x --no-banner
expect_status "an unknown user" 65 ctl send --user nobody-of-this-name /a x
expect_status "a user without a session" 69 ctl send --user daemon /a x
grep -q 'has no session bus' "$T/err" || fail "it says: $(cat "$T/err")"
expect_status "two addresses" 64 ctl send --user mina --address unix:path=/nowhere /a x

# --- the bus is found where the environment names none, such as in cron, or the folder of somebody else, such as after su

# bare USER COMMAND …: with nothing but a home.
bare() {
    setpriv --reuid="$1" --regid="$1" --init-groups env --ignore-environment PATH="$T/bin:/usr/bin:/bin" HOME="$T/home-$1" "${@:2}"
}
newest() { bare "$1" "${@:2}" notifyctl history -n 1 --json=short | jq -r .title; }
bare mina notifyctl send /job/backup "from cron" --no-banner > /dev/null
equal "a job of cron finds the bus of its user" "from cron" "$(newest mina)"
equal "and so does who has kept the runtime directory of another user" "from cron" \
    "$(newest mina env XDG_RUNTIME_DIR=/run/user/64202)"
expect_status "who has kept the address of another bus" 69 \
    bare mina env DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/64202/bus notifyctl history
grep -qF -- 'DBUS_SESSION_BUS_ADDRESS does not name yours: --address unix:path=/run/user/64201/bus.' "$T/err" ||
    fail "it says: $(cat "$T/err")"
ok "is told which is their own"
chown yuna /run/user/64201/bus
expect_status "the socket of another user is not used" 69 bare mina notifyctl history
grep -q '/run/user/64201/bus belongs to user 64202, and not to user 64201; set DBUS_SESSION_BUS_ADDRESS' "$T/err" ||
    fail "it says: $(cat "$T/err")"
chown mina /run/user/64201/bus

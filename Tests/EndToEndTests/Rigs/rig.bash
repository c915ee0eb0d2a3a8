# What the rigs share. A rig is a script that runs the built daemon among real programs: notification
# servers, D-Bus tools, Python clients, systemd. Run one by hand with the folder of the built products:
#
#     Tests/EndToEndTests/Rigs/dunst.sh .build/debug
#
# It prints one line for each fact it has checked and exits 0; at the first fact that does not hold it prints
# "FAILED: …" and the daemon's log and exits 1; it exits 77 when it cannot run on this machine.
#
# A rig never waits for a fixed time: it asks again until a condition holds or a deadline has passed. That
# something does *not* happen is shown by something later that does (a banner whose window opened afterwards).
#
# shellcheck shell=bash disable=SC2034

set -euo pipefail

ROUTER=org.notifyd.Router1
ROUTER_PATH=/org/notifyd/Router1
SERVER=org.freedesktop.Notifications
SERVER_PATH=/org/freedesktop/Notifications
PATIENCE=${RIG_PATIENCE:-15} # seconds until a condition that does not come true is a failure

RIGS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PROCESSES=() # what this rig has started, in order
REPORTED=    # a failure has been explained

say() { printf '%s\n' "$*"; }
ok() { printf 'ok: %s\n' "$*"; }

fail() {
    printf 'FAILED: %s\n' "$*"
    REPORTED=yes
    local log
    for log in "$T"/*.log; do
        [ -s "$log" ] || continue
        printf -- '--- %s\n' "${log##*/}"
        tail -n 60 "$log"
    done
    exit 1
}

skip() {
    printf 'SKIPPED: %s\n' "$*"
    exit 77
}

# needs COMMAND PACKAGE …: pairs of what is called here and the Debian package it comes from.
needs() {
    while [ $# -gt 0 ]; do
        command -v "$1" > /dev/null || skip "$1 is not installed; on Debian: apt-get install $2"
        shift 2
    done
}

needs_python() {
    local module
    for module in "$@"; do
        /usr/bin/python3 -c "import $module" 2> /dev/null ||
            skip "Python's $module is not installed; on Debian: apt-get install python3-$module"
    done
}

# rig_begin PRODUCTS: a folder of our own, which disappears with everything we started.
rig_begin() {
    if [ $# -lt 1 ] || [ ! -x "$1/notifyd" ] || [ ! -x "$1/notifyctl" ]; then
        printf 'usage: %s FOLDER, the one that holds the built notifyd and notifyctl\n' "$0" >&2
        exit 64
    fi
    PRODUCTS=$(cd "$1" && pwd)
    T=$(mktemp -d "${TMPDIR:-/tmp}/notifyd-rig.XXXXXX")
    trap 'rig_end "$BASH_COMMAND"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    exec < /dev/null
    # Nothing here may touch the bus, the settings or the state of the person who runs it.
    unset DBUS_SESSION_BUS_ADDRESS DBUS_STARTER_ADDRESS DISPLAY WAYLAND_DISPLAY NOTIFY_SOCKET JOURNAL_STREAM
    mkdir -m 700 "$T/home" "$T/run" "$T/config" "$T/state" "$T/config/notifyd"
    export HOME=$T/home XDG_RUNTIME_DIR=$T/run XDG_CONFIG_HOME=$T/config XDG_STATE_HOME=$T/state
    export LC_ALL=C.UTF-8 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
}

rig_end() {
    local status=$? index
    trap - EXIT
    set +e
    case $status in
        0 | 77) ;;
        *) [ -n "$REPORTED" ] || (fail "a command ended with status $status: $1") ;;
    esac
    # The last started goes first: a bus that went before its clients would leave their complaints behind.
    for ((index = ${#PROCESSES[@]} - 1; index >= 0; index--)); do
        stop "${PROCESSES[index]}"
    done
    rm -rf "$T"
    exit $status
}

# background LOG COMMAND …: starts it; its process id is in $!, and it is stopped with the rig.
background() {
    local log=$1
    shift
    "$@" > "$log" 2>&1 < /dev/null &
    PROCESSES+=($!)
}

# stop PROCESS [SIGNAL]: ends a child and waits for it; one that does not listen is killed.
stop() {
    # Together they are silent: bash has a word to say about every child that was killed.
    {
        kill "-${2:-TERM}" "$1" || true
        kill -CONT "$1" || true
        eventually_quiet 5 gone "$1" || kill -KILL "$1" || true
        wait "$1" || true
    } 2> /dev/null
}

# A child that has ended stays in the process table until it is waited for, hence the look at its state.
gone() {
    local state
    state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2> /dev/null) || true
    case $state in '' | Z*) return 0 ;; *) return 1 ;; esac
}

milliseconds() { printf '%s\n' $(($(date +%s%N) / 1000000)); }

# eventually_quiet SECONDS COMMAND …: asks until the command succeeds; 1 when time is up.
eventually_quiet() {
    local until=$(($(milliseconds) + $1 * 1000))
    shift
    until "$@"; do
        [ "$(milliseconds)" -lt $until ] || return 1
        sleep 0.03
    done
}

# eventually FACT COMMAND …: the fact is checked once the command succeeds.
eventually() {
    local fact=$1
    shift
    eventually_quiet "$PATIENCE" "$@" || fail "$fact (not within $PATIENCE seconds)"
    ok "$fact"
}

# throughout MILLISECONDS FACT COMMAND …: the command succeeds from now on for that long.
throughout() {
    local until=$(($(milliseconds) + $1)) fact=$2
    shift 2
    while [ "$(milliseconds)" -lt $until ]; do
        "$@" || fail "$fact"
        sleep 0.03
    done
    ok "$fact"
}

# equal FACT EXPECTED ACTUAL
equal() {
    [ "$2" = "$3" ] || fail "$1: it is \"$3\", and should be \"$2\""
    ok "$1"
}

# --- the bus and the daemon ------------------------------------------------------------------------

# A session bus of our own that starts nothing by itself: a notification server installed on this machine
# must not answer in place of the one under test.
start_bus() {
    needs dbus-daemon dbus-daemon busctl systemd gdbus libglib2.0-bin jq jq
    cat > "$T/bus.conf" <<-XML
	<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
	  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
	<busconfig>
	  <type>session</type>
	  <listen>unix:path=$T/bus</listen>
	  <policy context="default">
	    <allow send_destination="*" eavesdrop="true"/>
	    <allow eavesdrop="true"/>
	    <allow own="*"/>
	  </policy>
	</busconfig>
	XML
    background "$T/bus.log" dbus-daemon --config-file="$T/bus.conf" --nofork --nopidfile
    export DBUS_SESSION_BUS_ADDRESS=unix:path=$T/bus
    eventually_quiet "$PATIENCE" test -S "$T/bus" || fail "the private bus does not start"
}

owned() { gdbus wait --session --timeout 1 "$1" 2> /dev/null; }
owner() {
    busctl --user --json=short call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s "$1" \
        2> /dev/null | jq -r '.data[0]'
}
unowned() { [ -z "$(owner "$1")" ]; }

# start_daemon: notifyd, with the configuration read from standard input.
start_daemon() {
    cat > "$XDG_CONFIG_HOME/notifyd/config.toml"
    background "$T/notifyd.log" "$PRODUCTS/notifyd"
    DAEMON=$!
    eventually_quiet "$PATIENCE" owned $ROUTER || fail "notifyd does not take the name $ROUTER"
}

# Whether the daemon listens to a notification server.
server_is_known() { [ "$(property Statistics | jq '."notification-server"')" = 1 ]; }
daemon_lives() { ! gone "$DAEMON"; }

# call METHOD SIGNATURE ARGUMENT …: one call of the router's interface; prints the first value it returns.
call() {
    busctl --user --timeout=5 --json=short call $ROUTER $ROUTER_PATH $ROUTER "$@" | jq -r '.data[0]'
}

# send TOPIC TITLE BODY: prints the id of the accepted event.
send() { call Send sss "$@"; }

property() { busctl --user --json=short get-property $ROUTER $ROUTER_PATH $ROUTER "$1" | jq -r .data; }
property_is() { [ "$(property "$1")" = "$2" ]; }

# --- what the daemon says --------------------------------------------------------------------------

# record_signals: from now on every signal of the router is one line of JSON in $T/signals.
record_signals() {
    busctl --user --json=short monitor --match="type='signal',interface='$ROUTER'" \
        > "$T/signals" 2> "$T/signals.log" < /dev/null &
    PROCESSES+=($!)
    eventually_quiet "$PATIENCE" grep -qs '^Monitoring' "$T/signals.log" || fail "busctl monitor does not start"
}

# outcome ID: the last outcome that Resolved gave for the event, or nothing.
outcome() {
    jq -r "select(.member == \"Resolved\" and .payload.data[1] == $1) | .payload.data[2]" "$T/signals" 2> /dev/null |
        tail -n 1
}
outcome_is() { [ "$(outcome "$1")" = "$2" ]; }

# --- python-dbusmock as the notification server ----------------------------------------------------

# start_mock NAME [CAPABILITIES]: every call it receives is kept; its process id is in MOCK.
start_mock() {
    needs_python dbusmock
    local parameters='{}'
    [ $# -lt 2 ] || parameters="{\"capabilities\": \"$2\"}"
    background "$T/$1.log" /usr/bin/python3 -m dbusmock --session -t notification_daemon --parameters "$parameters"
    MOCK=$!
    eventually_quiet "$PATIENCE" owned $SERVER || fail "python-dbusmock does not take the name $SERVER"
}

# mock METHOD SIGNATURE ARGUMENT …: a call of the mock's own interface, in JSON.
mock() {
    busctl --user --json=short call $SERVER $SERVER_PATH org.freedesktop.DBus.Mock "$@"
}

# calls MEMBER: the arguments of every such call the mock has received, one JSON array a line.
calls() { mock GetMethodCalls s "$1" | jq -c '.data[0][][1] | map(.data)'; }
calls_are() { [ "$(calls "$1" | wc -l)" -eq "$2" ]; }

# unpacked PACKAGE: makes the programs and data of a package available that is unpacked and not installed, and those of xfce
# that are not in PATH.
unpacked() {
    local usr=$RIGS/../../../.build/unpacked/$1/usr folder
    for folder in "$usr/bin" "$usr"/lib/*/xfce4/notifyd /usr/lib/*/xfce4/notifyd /usr/lib/*/xfce4/xfconf; do
        PATH=$PATH:$folder
    done
    export XDG_DATA_DIRS=$usr/share:/usr/local/share:/usr/share
}

# --- screens ---------------------------------------------------------------------------------------

# start_xvfb SIZE: an X server without a screen, in DISPLAY.
start_xvfb() {
    local number
    mkfifo "$T/display-$1"
    # What it draws is in the file $T/Xvfb_screen0.
    Xvfb -displayfd 3 -screen 0 "$1x24" -fbdir "$T" -nolisten tcp 3> "$T/display-$1" > "$T/xvfb.log" 2>&1 < /dev/null &
    PROCESSES+=($!)
    read -r -t "$PATIENCE" number < "$T/display-$1" || fail "Xvfb does not start"
    export DISPLAY=:$number
}

# start_sway SIZE: sway without a screen, in WAYLAND_DISPLAY.
start_sway() {
    printf 'output * resolution %s background #202020 solid_color\n' "$1" > "$T/sway.conf"
    # It refuses to run as root, so root is somebody else there.
    local somebody=()
    if [ "$(id -u)" -eq 0 ]; then
        somebody=(unshare --user --map-user=1000 --map-group=1000)
        "${somebody[@]}" true 2> "$T/unshare.log" || skip "sway does not run as root, and there are no user namespaces"
    fi
    background "$T/sway.log" "${somebody[@]}" env WLR_BACKENDS=headless WLR_LIBINPUT_NO_DEVICES=1 WLR_RENDERER=pixman \
        XDG_SESSION_TYPE=wayland sway --config "$T/sway.conf"
    SWAY=$!
    # It takes the first free name.
    local socket
    has_socket() { socket=$(find "$XDG_RUNTIME_DIR" -maxdepth 1 -type s -name 'wayland-*' | head -n 1) && [ -n "$socket" ]; }
    eventually_quiet "$PATIENCE" has_socket || fail "sway does not start"
    export WAYLAND_DISPLAY=${socket##*/}
    can_draw() { grim -t ppm "$T/sway.ppm" 2> "$T/grim.log"; }
    eventually_quiet "$PATIENCE" can_draw || fail "sway has no output"
}

# keep_pictures FOLDER NAME …: puts pictures where a person can look at them: in $NOTIFYD_PICTURES, else beside the products.
keep_pictures() {
    local folder=${NOTIFYD_PICTURES:-$PRODUCTS/pictures}/$1 name
    shift
    mkdir -p "$folder"
    for name in "$@"; do
        if [ -f "$T/$name.png" ]; then
            cp "$T/$name.png" "$folder"
        else
            /usr/bin/python3 "$RIGS/png.py" "$T/$name.ppm" "$folder/$name.png"
        fi
    done
    say "pictures: $folder"
}

#!/bin/bash
# Lockers that tell logind nothing, real ones: while swaylock locks sway or i3lock locks i3, the focused window claims nothing.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs sway sway swaylock swaylock foot foot grim grim i3 i3-wm i3lock i3lock Xvfb xvfb pgrep procps
needs_python gi
start_bus
start_mock server
start_daemon <<< '[banner]
max_per_second = 0'
record_signals
cat > "$XDG_CONFIG_HOME/notifyd/focus.toml" << 'RULES'
[[screen]]
app = "firefox"
title = '^Post (?<id>[0-9]+) '
topic = "/post/{id}"
RULES

# Whoever else runs here knows the files that are installed, and would suspect a lock when one is executed.
mkdir "$T/bin"
cp "$(command -v swaylock)" "$(command -v i3lock)" "$T/bin"
export PATH=$T/bin:$PATH

focus() { "$PRODUCTS/notifyctl" focus --json=short 2> /dev/null | jq -r "$1"; }
obstacle_is() { [ "$(focus .obstacle)" = "$1" ]; }
follow() {
    background "$T/focus-$1.log" "$PRODUCTS/notifyd-focus"
    FOCUS=$!
    holds() { [ "$(focus '.source + " " + .screens[0].topic')" = "$1 /post/27" ]; }
    eventually "$1: a window holds a screen" holds "$1"
}
# becomes OUTCOME FACT: an event for the window, of which the outcome shows whether somebody counts as looking.
becomes() { eventually "$2" outcome_is "$(send /post/27 'A comment' 'of a friend')" "$1"; }
# locks NAME COMMAND …: while a locker runs, and when it has ended. Unlocking it by hand would take a password.
locks() {
    local name=$1
    shift
    becomes claimed "what the window shows is claimed"
    background "$T/$name.log" "$@"
    eventually "$name is noticed" obstacle_is "$name"
    becomes shown "then there is a banner, because nobody sees the window"
    # It may have forked. Another one on this machine is none of ours.
    local process
    for process in $(pgrep --exact "$name"); do
        if grep -qs "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" "/proc/$process/environ"; then kill "$process"; fi
    done
    eventually "the end of $name is noticed" obstacle_is ''
    becomes claimed "and what the window shows is claimed again"
}

# --- sway

start_sway 640x480
SWAYSOCK=$(find "$XDG_RUNTIME_DIR" -maxdepth 1 -type s -name 'sway-ipc.*')
export SWAYSOCK
background "$T/foot.log" foot --config=/dev/null --app-id=firefox --title='Post 27 – Example' sleep 1000
follow sway
locks swaylock swaylock
stop "$FOCUS"
stop "$SWAY"
unset SWAYSOCK WAYLAND_DISPLAY

# --- i3

start_xvfb 640x480
export I3SOCK=$T/run/i3.sock
printf '%s\n' '# i3 config file (v4)' 'font pango:monospace 8' "ipc-socket $I3SOCK" > "$T/i3.conf"
background "$T/i3.log" i3 --config "$T/i3.conf"
eventually_quiet "$PATIENCE" test -S "$I3SOCK" || fail "i3 does not start"
GDK_BACKEND=x11 GSK_RENDERER=cairo \
    background "$T/window.log" /usr/bin/python3 "$RIGS/focus-window.py" firefox 'Post 27 – Example'
follow i3
# It goes to the background by itself.
locks i3lock i3lock

#!/bin/bash
# The examples do what they say: each runs against the daemon on a bus of its own, and its effect is checked.
# That of systemd's is in systemd-user-session.sh, where there is a manager; those that outlive the bus in
# examples-restarts.sh.

# shellcheck disable=SC2016 # what is not expanded here is for a shell that these lines write for
source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs Xvfb xvfb script bsdutils stdbuf coreutils
needs_python gi dbus dasbus jeepney
/usr/bin/python3 -c 'import gi; gi.require_version("Gtk", "4.0")' 2> /dev/null ||
    skip "GTK 4 is not installed for Python; on Debian: apt-get install gir1.2-gtk-4.0"
EXAMPLES=$RIGS/../../../examples
export PATH=$PRODUCTS:$PATH
start_bus
start_mock server
# Windows of two seconds leave a loaded machine time for the claims that are meant to be in time.
start_with_long_windows() {
    start_daemon <<'TOML'
[defaults]
window = "2s"
[banner]
max_per_second = 0
TOML
}

start_with_long_windows
record_signals

# screens: topic and state of each.
screens() {
    busctl --user --json=short call $ROUTER $ROUTER_PATH $ROUTER ListScreens |
        jq -r '.data[0][] | "\(.[1]) \(.[3])"'
}
screen_is() { screens | grep -q -x -- "$1"; }
no_screen() { ! screens | grep -q -- "^$1 "; }
says() { grep -q -- "$2" "$T/$1.log"; }

# --- bash: a build in a terminal that is in front, and in one that is not

# build NAME: starts a build that goes on until it is told its exit code; the terminal reports through descriptor 9.
build() {
    mkfifo "$T/$1.terminal" "$T/$1.end"
    printf '#!/bin/sh\nread -r status < "%s"\nexit "$status"\n' "$T/$1.end" > "$T/$1.sh"
    background "$T/$1.log" bash -c "exec script --quiet --flush --return --command \
        '$EXAMPLES/bash/build-in-peace $1 sh $T/$1.sh' /dev/null < '$T/$1.terminal'"
    BUILD=$!
    exec 9> "$T/$1.terminal"
    eventually "while its terminal is in front a build has a screen ($1)" screen_is "/build/$1 focused"
}
ended() {
    local status=0
    wait "$BUILD" || status=$?
    equal "the example passes on how the build ended ($1)" "$2" "$status"
}

build seen
printf '\e[O' >&9
eventually "when you look elsewhere the screen is closed" no_screen /build/seen
printf 'typed\n\e[I' >&9
eventually "and opened when you are back, whatever you type" screen_is '/build/seen focused'
echo 0 > "$T/seen.end"
ended seen 0
eventually "a build you have seen the end of is claimed" says seen 'claimed'
eventually "nothing is left open" no_screen /build/seen

build unseen
printf '\e[O' >&9
eventually "when you look elsewhere the screen is closed" no_screen /build/unseen
echo 3 > "$T/unseen.end"
ended unseen 3
eventually "a build you have not seen the end of becomes a banner" says unseen 'shown'
equal "whose text says how it ended" 'unseen is broken' "$(calls Notify | jq -r '.[3]' | tail -n 1)"

# Without a terminal, and with a name that is neither an option nor a topic.
odd="-it's $(printf '%080d' 0)/ödd"
! "$EXAMPLES/bash/build-in-peace" "$odd" false < /dev/null > "$T/odd.log" 2>&1 || fail "a build that fails does not say so"
equal "a project may have any name" "$odd is broken" "$(call History stu /build 0 100 | jq -r '.[-1][2]')"

# --- Python: handling with dbus-python, current values with dasbus

example() {
    local name=$1
    shift
    background "$T/$name.log" "$@"
}
printf '#!/bin/sh\necho "$@" >> "%s"\n[ "$1" != Unwelcome ]\n' "$T/forwarded" > "$T/forward.sh"
example forward "$EXAMPLES/python/forward.py" /run sh "$T/forward.sh"
eventually "forward.py is ready" says forward ready
id=$(send /run/r1/invite/note Welcome 'and handled')
eventually "what forward.py could hand on is claimed" outcome_is "$id" claimed
equal "title and body were handed on" 'Welcome and handled' "$(cat "$T/forwarded")"
id=$(send /run/r1/invite/note Unwelcome 'and given back')
eventually "what it could not becomes a banner" outcome_is "$id" shown
id=$(send /run/r1/invite/note '' '')
eventually "a push without a title is handed on, too" outcome_is "$id" claimed
tail -n 1 "$T/forwarded" | grep -q '[a-z]' || fail "it is handed on without the text of its banner"
ok "with the text of its banner"
example forward-all "$EXAMPLES/python/forward.py" / sh -c 'true "$@"' sh
FORWARD_ALL=$!
eventually "forward.py is ready for every topic" says forward-all ready
id=$(send /anywhere Every topic)
eventually "forward.py hears every topic at /" outcome_is "$id" claimed
stop "$FORWARD_ALL"

sed '/^```python$/,/^```$/!d;/^```/d' "$RIGS/../../../README.md" > "$T/readme.py"
example readme env PYTHONPATH="$RIGS/../../../python/src" /usr/bin/python3 "$T/readme.py"
README=$!
eventually "the screen of the README is open" screen_is '/chat/lobby focused'
send /chat/lobby At it > /dev/null
eventually "it prints what is about its room" says readme '^/chat/lobby At it$'
id=$(send /chat/lobby/reply/3 Below it)
eventually "and what is below it" says readme '^/chat/lobby/reply/3 Below it$'
eventually "and claims that" outcome_is "$id" claimed
stop "$DAEMON"
start_with_long_windows
eventually "after a restart of notifyd it is open again" screen_is '/chat/lobby focused'
stop "$README"
eventually "and closed when it ends" no_screen /chat/lobby

retain() {
    call Publish 'sssa{sv}a{sv}' "/run/r1/mate/$1" '' '' 1 distance x "$2" 1 retain b true > /dev/null
}
retain 영희 1200
example mates "$EXAMPLES/python/mates.py" r1
eventually "mates.py shows what there is" says mates '^영희 1200 m$'
retain 영희 1300
retain Mina 900
eventually "and what changes" says mates '^영희 1300 m$'
eventually "and what is new" says mates '^Mina 900 m$'
call Publish 'sssa{sv}a{sv}' /run/r1/mate/Eve '' '' 1 distance s $'\e[31m1' 1 retain b true > /dev/null
eventually "and nothing that is not a distance" says mates '^Eve ? m$'
call Publish 'sssa{sv}a{sv}' /run/r1/mate/영희 '' '' 0 1 remove b true > /dev/null
eventually "and what is gone" says mates '^영희 is gone$'

# --- GTK: a window that shows a post

start_xvfb 900x400
example window env GDK_BACKEND=x11 GSK_RENDERER=cairo GTK_A11Y=none "$EXAMPLES/gtk/post-window.py" 27
WINDOW=$!
window_screen() { screens | grep -q -E '^/post/27 (focused|visible)$'; }
eventually "a window that shows post 27 has a screen" window_screen
id=$(send /post/27 'Shown' 'in the window')
eventually "so the event is claimed" outcome_is "$id" claimed
stop "$DAEMON"
eventually "without notifyd nothing is claimed" unowned $ROUTER
start_with_long_windows
eventually "when it is back, so is the screen" window_screen
id=$(send /run/r1/invite/note Welcome back)
eventually "forward.py goes on" outcome_is "$id" claimed
retain Mina 1000
eventually "and mates.py goes on as well" says mates '^Mina 1000 m$'
stop "$WINDOW"
eventually "a window that is closed leaves no screen" no_screen /post/27

# --- Swift: a board for a run

example board stdbuf -oL "$PRODUCTS/RunBoard" r1
eventually "the board of a run has a screen" screen_is '/run/r1 focused'
eventually "it shows the mate who is there" says board '^Mina is at 1000 m$'
id=$(send /run/r1/cancelled '' 'It rains')
eventually "news of the run is claimed" outcome_is "$id" claimed
eventually "and is on the board" says board 'It rains'
send /run/r1/cancelled $'\e[31mRed' '' > /dev/null
eventually "without what a terminal would obey" says board '/run/r1/cancelled \[31mRed'

daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

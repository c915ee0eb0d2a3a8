#!/bin/bash
# The examples in C and GJS go on over kills of the daemon and of the bus: the screen is open again, and no event is
# printed twice or never.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs gcc gcc pkg-config pkg-config gjs gjs
pkg-config --exists libsystemd || skip "libsystemd's headers are not installed; on Debian: apt-get install libsystemd-dev"
EXAMPLES=$RIGS/../../../examples
export PATH=$PRODUCTS:$PATH

# The command that the example itself names.
read -ra flags <<< "$(pkg-config --cflags --libs libsystemd)"
gcc -Wall -Wextra -Wno-unused-parameter -Werror -o "$T/post-screen" "$EXAMPLES/c/post-screen.c" "${flags[@]}"
ok "the example in C compiles without a warning"

start_bus
BUS=$!
start_daemon < /dev/null

# screens_are COUNT: so many focused screens are open on the post.
screens_are() {
    local count
    count=$(busctl --user --json=short call $ROUTER $ROUTER_PATH $ROUTER ListScreens 2> /dev/null |
        jq '[.data[0][] | select(.[1] == "/post/27" and .[3] == "focused")] | length')
    [ "$count" = "$1" ]
}
printed=() # what each example must have printed, in order
publish() {
    send "/post/27$1" "$2" "$3" > /dev/null
    printed+=("/post/27$1 $2 $3")
}
# Each line of its own log, and nothing else.
has_printed() { [ "$(cat "$T/$1.out")" = "$(printf '%s\n' "${printed[@]}")" ]; }
each() {
    eventually "$1 (C)" has_printed c
    eventually "$1 (GJS)" has_printed gjs
}
outcome_of() { call Explain t "$1" | jq -r .outcome.data; }

send /post/27 Before "they start" > /dev/null
"$T/post-screen" 27 > "$T/c.out" 2> "$T/c.log" &
PROCESSES+=($!)
"$EXAMPLES/gjs/post-screen.js" 27 > "$T/gjs.out" 2> "$T/gjs.log" &
PROCESSES+=($!)
begins() { screens_are 2 && grep -q listening "$T/c.log" && grep -q listening "$T/gjs.log"; }
eventually "both have a screen on the post" begins
send /other Not theirs > /dev/null
publish "" One comment
publish /comment/3 Two 댓글
send /post/27 $'\e[31mRed\u9b' $'two\nlines' > /dev/null
printed+=('/post/27 [31mRed twolines')
each "they print what is about the post, without what a terminal would obey"
id=$(send /post/27 Three comments)
printed+=("/post/27 Three comments")
equal "and claim it" claimed "$(outcome_of "$id")"

stop "$DAEMON" KILL
start_daemon < /dev/null
publish "" Four "after a crash of notifyd"
each "after a crash of notifyd they print what follows, and nothing twice"
eventually "and have their screens again" screens_are 2

stop "$BUS" KILL
stop "$DAEMON" KILL
rm "$T/bus"
start_bus
start_daemon < /dev/null
publish "" Five "after a crash of the bus"
publish "" Six "as well"
each "after a crash of the bus they print what was published meanwhile"
eventually "and have their screens again" screens_are 2

daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

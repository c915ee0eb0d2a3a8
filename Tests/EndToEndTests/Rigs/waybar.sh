#!/bin/bash
# The example for waybar, in a real one: on sway without a screen. What is unread and what is paused changes its picture, and
# nothing unread gives the first picture again.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs sway sway waybar waybar grim grim cmp diffutils
EXAMPLE=$RIGS/../../../examples/waybar
export PATH=$PRODUCTS:$PATH
start_bus
start_sway 640x120
# The mock is the server for the banners.
start_mock server
start_daemon <<'TOML'
[banner]
max_per_second = 0
TOML
record_signals

picture() { grim -t ppm "$T/$1.ppm" 2> "$T/grim.log"; }
differs() { picture "$1" && ! cmp --silent "$T/$1.ppm" "$T/$2.ppm"; }
same() { picture "$1" && cmp --silent "$T/$1.ppm" "$T/$2.ppm"; }
# settled NAME: the picture NAME does not change any more.
settled() { picture "$1" && sleep 0.7 && same "$1-again" "$1"; }

eventually "the screen is empty" settled empty
background "$T/waybar.log" waybar --log-level debug --config "$EXAMPLE/config.jsonc" --style "$EXAMPLE/style.css"
WAYBAR=$!
# Waybar runs the command of the example: one that follows the inbox.
follows() { pgrep --parent "$WAYBAR" --full 'notifyctl inbox --follow waybar' > /dev/null; }
eventually "waybar runs the command of the example" follows

eventually "waybar is there" differs bar empty
eventually "and shows that nothing is unread" settled none

first=$(send /post/27 'Nice!' 'with <b>markup</b> & "quotes"')
eventually "a push is shown" outcome_is "$first" shown
eventually "and changes the picture" differs unread none
eventually "to one that lasts" settled unread
second=$(send /post/28 'Another' 'one')
eventually "another push is shown" outcome_is "$second" shown
eventually "and the picture has another number" differs two unread

# Nobody can click here, so this runs what a right click would.
right_click() { sh -c "$(sed -n 's/.*"on-click-right": "\(.*\)"$/\1/p' "$EXAMPLE/config.jsonc" | sed 's/\\"/"/g')"; }
right_click
eventually "a right click pauses" property_is Paused true
eventually "that changes the picture" differs paused two
right_click
eventually "another one ends that" property_is Paused false
eventually "and gives the picture before" same two-again two

stop "$DAEMON"
eventually "without notifyd it says so" differs absent two
eventually "in a picture that lasts" settled absent
start_daemon < /dev/null
eventually "when notifyd is back, so is the number" same back two
call MarkRead st / 0 > /dev/null
eventually "when all is read, it is the first picture again" same read none
if gone "$WAYBAR"; then fail "waybar has ended"; fi
equal "waybar complains of no output" '' "$(grep -i 'error.*custom\|parse' "$T/waybar.log" || true)"
keep_pictures waybar none unread paused absent
daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

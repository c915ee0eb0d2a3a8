#!/bin/bash
# The notifications of ordinary programs: what notify-send and libnotify show on dunst, mako, xfce4-notifyd and GNOME Shell becomes an
# event, and what notifyd decides closes it. A server that is not installed is left out.
#
#     desktop.sh PRODUCTS [SERVER]
#
# mako and xfce4-notifyd are not installed for the tests; ".ci/packages test-desktop" unpacks them.

source "$(dirname "$0")/rig.bash"

# --- all of them

if [ $# -eq 1 ]; then
    rig_begin "$@"
    status=77
    for server in dunst plasma xfce4-notifyd mako gnome-shell; do
        code=0
        bash "$0" "$1" $server || code=$?
        # A failure counts more than a success, and that more than a server that is not there.
        case $code in 77) ;; 0) [ $status -ne 77 ] || status=0 ;; *) status=1 ;; esac
    done
    [ $status -ne 1 ] || REPORTED=yes
    exit $status
fi

# --- one of them

name=$2
rig_begin "$1"
needs busctl systemd notify-send libnotify-bin
needs_python gi
/usr/bin/python3 -c 'import gi; gi.require_version("Notify", "0.7")' 2> /dev/null ||
    skip "there is no libnotify for Python; on Debian: apt-get install gir1.2-notify-0.7"

user_closes() { :; }
user_presses() { return 77; }
case $name in
    dunst)
        needs dunst dunst dunstctl dunst Xvfb xvfb
        start_bus
        start_xvfb 800x600
        printf '[global]\nfont = DejaVu Sans 12\nmarkup = full\nnotification_limit = 0\nsort = no\n' > "$T/dunstrc"
        start_server() {
            background "$T/dunst.log" dunst -config "$T/dunstrc"
            SERVER_PROCESS=$!
        }
        start_server
        displayed() { dunstctl count displayed; }
        user_closes() { dunstctl close; }
        user_presses() { dunstctl action 0; }
        ;;
    mako)
        unpacked mako-notifier
        needs mako mako-notifier makoctl mako-notifier sway sway grim grim
        start_bus
        start_sway 800x600
        start_server() {
            background "$T/mako.log" mako --font 'DejaVu Sans 12' --default-timeout 0 --max-visible=-1
            SERVER_PROCESS=$!
        }
        start_server
        displayed() {
            busctl --user --json=short call $SERVER /fr/emersion/Mako fr.emersion.Mako ListNotifications |
                jq '.data[0] | length'
        }
        user_closes() { makoctl dismiss; }
        user_presses() { makoctl invoke; }
        ;;
    xfce4-notifyd)
        unpacked xfce4-notifyd
        needs xfce4-notifyd xfce4-notifyd xfconfd xfconf Xvfb xvfb
        start_bus
        start_xvfb 800x600
        background "$T/xfconfd.log" xfconfd
        eventually_quiet "$PATIENCE" owned org.xfce.Xfconf || fail "xfconfd does not start"
        background "$T/xfce4-notifyd.log" xfce4-notifyd
        displayed() { return 77; }
        ;;
    gnome-shell)
        source "$RIGS/gnome.bash"
        start_bus
        start_gnome_shell
        in_shell "const main = imports.ui.main; main.overview.hide();
            main.messageTray.getSources().forEach(source => source.destroy()); ''" > /dev/null
        displayed() {
            in_shell 'imports.ui.main.messageTray.getSources().reduce((sum, source) => sum + source.notifications.length, 0)'
        }
        newest='imports.ui.main.messageTray.getSources().flatMap(source => source.notifications).pop()'
        user_closes() { in_shell "$newest.destroy(2); ''" > /dev/null; }
        user_presses() { in_shell "$newest.activate(); ''" > /dev/null; }
        ;;
    plasma)
        # A stand-in of Plasma's server, whose watcher is told.
        needs_python dbus
        start_bus
        background "$T/plasma.log" /usr/bin/python3 "$RIGS/notification-server.py" Plasma
        plasma() { busctl --user --json=short call $SERVER $SERVER_PATH org.notifyd.Test "$@" | jq -r '.data[0]'; }
        displayed() { plasma Count; }
        user_closes() { plasma Dismiss; }
        user_presses() { plasma Press; }
        ;;
    *) fail "\"$name\" is none of dunst, mako, xfce4-notifyd, gnome-shell, plasma" ;;
esac
eventually "$name is there" owned $SERVER

start_daemon <<'TOML'
[defaults]
window = "300ms"
TOML
record_signals
cat > "$XDG_CONFIG_HOME/notifyd/desktop.toml" <<'TOML'
[[app]]
app = "Rooms"
title = "^#(?<room>[a-z0-9-]+)"
topic = "/room/{room}"

[[app]]
app = "Secrets"
keep = "0"

[[app]]
app = "Short"
keep = "1s"

[[app]]
app = "Long"
topic = "/app/Short/long"

[[app]]
app = "Brief"
topic = "/mixed"
keep = "1s"

[[app]]
app = "Front"
claim = "app"
TOML
# What others publish at the topic of a program, and with a field that has the name of this program's.
call Claim t "$(send /mixed "Another program's" '')" > /dev/null
call Claim t "$(call Publish 'sssa{sv}a{sv}' /note/stray 'A stray field' '' 1 keep u 0 0)" > /dev/null

BRIDGE=org.notifyd.Bridge.desktop
BRIDGE_PATH=/org/notifyd/Bridge1
start_desktop() {
    background "$T/desktop-$(milliseconds).log" "$PRODUCTS/notifyd-desktop"
    DESKTOP=$!
    eventually_quiet "$PATIENCE" is_connected || fail "notifyd-desktop does not begin"
}
is_connected() {
    [ "$(busctl --user --json=short get-property $BRIDGE $BRIDGE_PATH $BRIDGE_NAME State 2> /dev/null | jq -r .data)" = connected ]
}
BRIDGE_NAME=org.notifyd.Bridge1
start_desktop

# history FILTER: of all events, the oldest first, by a filter of jq.
history() {
    busctl --user --json=short call $ROUTER $ROUTER_PATH $ROUTER History stu / 0 1000 | jq -r "[.data[0][]] | $1"
}
# event TITLE: the newest event with that title.
event() { history "map(select(.[2] == \"$1\")) | last | .[0] // empty"; }
has_event() { [ -n "$(event "$1")" ]; }
# published TITLE: waits for it; the id is in ID.
published() {
    eventually "$name: “$1” is an event" has_event "$1"
    ID=$(event "$1")
}
of_event() { history "map(select(.[0] == $1)) | last | $2"; }
# The signal may have been sent before the rig began to look.
result() { of_event "$1" '.[5]'; }
result_is() { [ "$(result "$1")" = "$2" ]; }
displayed_is() { [ "$(displayed)" = "$1" ]; }
can_count() { [ "$name" != xfce4-notifyd ]; }
# up FACT COUNT: how many banners are up, where the server says it.
up() { if can_count; then eventually "$name: $1" displayed_is "$2"; fi; }

# --- a notification is an event

notify-send --app-name Letters --category email.arrived --urgency normal 'First' 'so <b>bold</b> &amp; plain'
published First
equal "$name: its topic is that of the program" /app/Letters "$(of_event "$ID" '.[1]')"
eventually "$name: nobody claims it, so its outcome is shown" result_is "$ID" shown
up "its banner is the only one" 1
if [ "$name" != xfce4-notifyd ]; then
    equal "$name: markup is text" 'so bold & plain' "$(of_event "$ID" '.[3]')"
fi

# --- claimed late, and at once

call Claim t "$ID" > /dev/null
up "a late claim closes it" 0
eventually "$name: and that is its outcome" result_is "$ID" retracted

screen=$("$PRODUCTS/notifyctl" screen /room/swift > "$T/screen" 2>&1 & echo $!)
PROCESSES+=("$screen")
has_screen() { busctl --user call $ROUTER $ROUTER_PATH $ROUTER ListScreens | grep -q /room/swift; }
eventually "a screen shows a room" has_screen
notify-send --app-name Rooms '#swift: Mina' 'Are you there?'
published '#swift: Mina'
equal "$name: a capture makes the topic" /room/swift "$(of_event "$ID" '.[1]')"
eventually "$name: the screen claims it" result_is "$ID" claimed
up "and it is closed" 0
notify-send --app-name Rooms '#rust: Tom' 'And you?'
published '#rust: Tom'
eventually "$name: that of another room is shown" result_is "$ID" shown
up "and stays" 1
call MarkRead st /room/rust 0 > /dev/null
up "until it is read" 0
eventually "$name: whose outcome is retracted" result_is "$ID" retracted

# --- replaced, withdrawn, dismissed, pressed: a program with libnotify

mkfifo "$T/lines"
/usr/bin/python3 "$RIGS/libnotify-program.py" 'A letter' 'from Mina' < "$T/lines" > "$T/program" 2> "$T/program.log" &
PROGRAM=$!
PROCESSES+=($PROGRAM)
exec 7> "$T/lines"
published 'A letter'
letter=$ID
eventually "$name: a letter is shown" result_is "$letter" shown
echo 'Two letters' >&7
published 'Two letters'
eventually "$name: an update replaces the earlier event" result_is "$letter" replaced
eventually "$name: and is shown" result_is "$ID" shown
up "there is one banner" 1
echo >&7
eventually "$name: the program takes it back" result_is "$ID" withdrawn
up "and nothing is up" 0
exec 7>&-

if [ "$name" != xfce4-notifyd ]; then
    notify-send --app-name Letters 'Closed by the user'
    published 'Closed by the user'
    eventually "$name: it is shown" result_is "$ID" shown
    up "one is up" 1
    user_closes
    eventually "$name: the user closes it" result_is "$ID" dismissed

    notify-send --app-name Letters --action default=Open --wait 'To be opened' > "$T/pressed" 2> "$T/notify-send.log" &
    PROCESSES+=($!)
    published 'To be opened'
    eventually "$name: it is shown" result_is "$ID" shown
    up "one is up" 1
    if [ "$name" = mako ] || [ "$name" = plasma ]; then
        user_presses
        eventually "$name: the user presses its button" result_is "$ID" retracted
        equal "$name: and why says which" default "$(call Explain t "$ID" | jq -r .action.data)"
    else
        ! busctl --user call $ROUTER $ROUTER_PATH $ROUTER Press ts "$ID" default 2> "$T/press" || fail "$name: it has a button"
        grep -q 'has no button' "$T/press" || fail "$name: $(cat "$T/press")"
        ok "$name: the inbox has no button that would do nothing"
        user_presses
        eventually "$name: the user presses the banner's" result_is "$ID" dismissed
    fi
    eventually "$name: the program has heard of it" grep -qs default "$T/pressed"
    up "and nothing is up" 0
fi

# --- a program of GTK, and a page in Chromium, where that is installed

/usr/bin/python3 "$RIGS/gio-program.py" org.gnome.Shell.Extensions 'From GTK' < "$T/lines" > "$T/gio.log" 2>&1 &
PROCESSES+=($!)
exec 7> "$T/lines"
published 'From GTK'
eventually "$name: it is shown" result_is "$ID" shown
exec 7>&-
eventually "$name: its program takes it back" result_is "$ID" withdrawn
up "and nothing is up" 0

if [ "$name" = dunst ] && command -v chromium > /dev/null && command -v chromedriver > /dev/null; then
    /usr/bin/python3 "$RIGS/chromium-page.py" 'From a page' "$RIGS/../../../browser" < "$T/lines" > "$T/page.log" 2>&1 &
    PROCESSES+=($!)
    exec 7> "$T/lines"
    PATIENCE=60 published 'From a page'
    eventually "$name: it is shown" result_is "$ID" shown
    up "in one banner" 1
    call Claim t "$ID" > /dev/null
    up "which a claim closes" 0
    exec 7>&-
fi

# --- expired: only the server closes it

if [ "$name" = dunst ] || [ "$name" = mako ] || [ "$name" = plasma ]; then
    notify-send --app-name Letters --expire-time 700 'Only for a moment'
    published 'Only for a moment'
    up "it is up" 1
    up "and expires" 0
    equal "$name: what nobody has seen stays unread" shown "$(result "$ID")"
    call Claim t "$ID" > /dev/null
fi

# --- not taken

notify-send --app-name Secrets 'A secret'
notify-send --app-name Letters --hint boolean:transient:true 'Transient'
notify-send --app-name Letters --hint string:x-canonical-private-synchronous:volume 'Volume'
notify-send --app-name Letters --hint int:value:40 'Brightness'
own=$(send /note/1 "notifyd's own" banner)
eventually "$name: notifyd shows a banner of its own" outcome_is "$own" shown
notify-send --app-name Letters 'After these'
published 'After these'
for title in 'A secret' Transient Volume Brightness; do
    equal "$name: “$title” is not taken" '' "$(event "$title")"
done
equal "$name: notifyd's own banner is one event" 1 "$(history "map(select(.[2] == \"notifyd's own\")) | length")"
# clear: takes down what is up, also what is not an event.
clear_banners() {
    call ClaimTopic su / 0 > /dev/null
    if can_count; then
        while [ "$(displayed)" != 0 ] && user_closes > /dev/null; do sleep 0.05; done
        up "nothing is up" 0
    fi
}
clear_banners

# --- paused, and the button in the inbox

busctl --user set-property $ROUTER $ROUTER_PATH $ROUTER Paused b true
notify-send --app-name Letters 'In the pause'
published 'In the pause'
eventually "$name: a pause mutes it" result_is "$ID" muted
up "and it is closed" 0
busctl --user set-property $ROUTER $ROUTER_PATH $ROUTER Paused b false

if [ "$name" = mako ] || [ "$name" = plasma ]; then
    notify-send --app-name Letters --action default=Open --wait 'From the inbox' > "$T/pressed" 2> "$T/notify-send.log" &
    PROCESSES+=($!)
    published 'From the inbox'
    eventually "$name: it is shown" result_is "$ID" shown
    busctl --user call $ROUTER $ROUTER_PATH $ROUTER Press ts "$ID" default > /dev/null
    eventually "$name: a button that is pressed in the inbox reaches the program" grep -qs default "$T/pressed"
fi

# --- programs of GNOME

if [ "$name" = gnome-shell ]; then
    gtk() { busctl --user call org.gtk.Notifications /org/gtk/Notifications org.gtk.Notifications "$@" > /dev/null; }
    gtk AddNotification 'ssa{sv}' org.gnome.Shell.Extensions build 2 title s 'Built' body s 'in a minute'
    published Built
    equal "$name: the topic of a GTK program" /app/org.gnome.Shell.Extensions "$(of_event "$ID" '.[1]')"
    eventually "$name: it is shown" result_is "$ID" shown
    shown=$(displayed)
    call Claim t "$ID" > /dev/null
    up "a claim removes it" $((shown - 1))
    gtk AddNotification 'ssa{sv}' org.gnome.Shell.Extensions build 1 title s 'Building'
    published Building
    eventually "$name: it is shown" result_is "$ID" shown
    gtk RemoveNotification ss org.gnome.Shell.Extensions build
    eventually "$name: its program takes it back" result_is "$ID" withdrawn
fi

# --- a window of the program is in front, as notifyd-focus would say

if [ "$name" = dunst ]; then
    notify-send --app-name Front 'Not in front'
    published 'Not in front'
    eventually "$name: without notifyd-focus it is shown" result_is "$ID" shown
    cat > "$T/focus.py" <<'PYTHON'
import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib


class Focus(dbus.service.Object):
    @dbus.service.method("org.notifyd.Focus1", out_signature="a{sv}")
    def Get(self):
        return {"app": "front", "instance": "", "obstacle": ""}


DBusGMainLoop(set_as_default=True)
focus = Focus(dbus.service.BusName("org.notifyd.Focus1", dbus.SessionBus()), "/org/notifyd/Focus1")
GLib.MainLoop().run()
PYTHON
    background "$T/focus.log" /usr/bin/python3 "$T/focus.py"
    eventually_quiet "$PATIENCE" owned org.notifyd.Focus1 || fail "the stand-in for notifyd-focus does not start"
    notify-send --app-name Front 'In front'
    published 'In front'
    eventually "$name: what a program shows that is in front is claimed" result_is "$ID" claimed
fi

# --- the command

equal "$name: notifyctl desktop shows the topic" /room/rust \
    "$("$PRODUCTS/notifyctl" desktop --json=short | jq -r '.notifications[] | select(.title == "#rust: Tom") | .topic')"
equal "$name: and why something is not an event" 'its rule leaves it alone' \
    "$("$PRODUCTS/notifyctl" desktop --json=short | jq -r '.notifications[] | select(.app == "Secrets") | .title + .reason')"
"$PRODUCTS/notifyctl" desktop --learn '/chat/{room}' --keep 2h --share > "$T/learned" 2> "$T/learn.log" &
LEARN=$!
PROCESSES+=($LEARN)
eventually_quiet "$PATIENCE" grep -qs 'Have the program' "$T/learn.log" || fail "--learn does not begin"
# It asks just before it waits.
learned() { notify-send --app-name Chat '#general: Mina' && gone $LEARN; }
eventually "$name: --learn ends with the next notification" learned
wait $LEARN || fail "--learn fails: $(cat "$T/learn.log")"
notify-send --app-name Chat '#swift: Tom'
published '#swift: Tom'
equal "$name: its rule makes the topic" /chat/swift "$(of_event "$ID" '.[1]')"
equal "$name: and says how long its text stays" 7200 "$(of_event "$ID" '.[6].keep.data')"

# --- notifyd, notifyd-desktop and the server end

clear_banners
for title in 'Brief Behind another' 'Short Short-lived' 'Long Long-lived' 'Short Behind it'; do
    notify-send --app-name "${title%% *}" "${title#* }"
    published "${title#* }"
    eventually "$name: it is shown" result_is "$ID" shown
    call Claim t "$ID" > /dev/null
    up "a claim closes it" 0
done
stop "$DAEMON" KILL
eventually "notifyd is killed" unowned $ROUTER
for title in 'Away 1' 'Away 2' 'Away 3' 'While notifyd is away'; do
    notify-send --expire-time 0 --app-name Letters "$title"
done
background "$T/notifyd-again.log" "$PRODUCTS/notifyd"
DAEMON=$!
published 'While notifyd is away'
equal "$name: what came meanwhile is published in its order" 'Away 1 Away 2 Away 3 While notifyd is away' \
    "$(history 'map(select(.[2] | test("[aA]way"))) | sort_by(.[0]) | map(.[2]) | join(" ")')"
eventually "$name: and shown" result_is "$ID" shown
for title in 'Away 1' 'Away 2' 'Away 3'; do call Claim t "$(event "$title")" > /dev/null; done
stop "$DESKTOP" KILL
eventually "notifyd-desktop is killed" unowned $BRIDGE
call Claim t "$ID" > /dev/null
start_desktop
is_deleted() { ! has_event 'Short-lived'; }
eventually "$name: a text whose time is over is deleted" is_deleted
for title in 'While notifyd is away' "Another program's" 'A stray field' 'Long-lived' 'Behind another' 'Behind it'; do
    has_event "$title" || fail "$name: “$title” is deleted"
done
ok "$name: and no other, and none behind one that stays"
stays_are_told() { busctl --user get-property $BRIDGE $BRIDGE_PATH $BRIDGE_NAME Problems | grep -q 'texts at .* and at 1 more stay'; }
eventually "$name: a problem says so" stays_are_told
up "what was claimed meanwhile is closed after the start" 0
notify-send --expire-time 0 --app-name Letters 'Up over a restart'
published 'Up over a restart'
eventually "$name: it is shown" result_is "$ID" shown
stop "$DESKTOP" KILL
eventually "notifyd-desktop is killed" unowned $BRIDGE
start_desktop
up "a banner is up after the start" 1
call Claim t "$ID" > /dev/null
up "and is closed by a claim" 0

if [ "$name" = dunst ] || [ "$name" = mako ]; then
    kill -STOP "$SERVER_PROCESS"
    # notify-send would ask the server for its name first.
    busctl --user call $SERVER $SERVER_PATH $SERVER Notify 'susssasa{sv}i' Letters 0 '' 'While the server hangs' '' 0 0 0 > "$T/hung" &
    hung=$!
    published 'While the server hangs'
    call Claim t "$ID" > /dev/null
    kill -CONT "$SERVER_PROCESS"
    wait $hung || fail "a program gets no answer of a server that has hung"
    up "what was claimed while the server hung is closed" 0

    notify-send --expire-time 0 --app-name Letters 'Up when the server ends'
    published 'Up when the server ends'
    eventually "$name: it is shown" result_is "$ID" shown
    left=$ID
    stop "$SERVER_PROCESS" KILL
    eventually "$name is killed" unowned $SERVER
    start_server
    eventually "$name is there again" owned $SERVER
    notify-send --expire-time 0 --app-name Letters 'On the next one'
    published 'On the next one'
    eventually "$name: it is shown" result_is "$ID" shown
    call Claim t "$left" > /dev/null
    eventually "$name: a banner that is gone is claimed" result_is "$left" retracted
    throughout 300 "$name: and the one with its number stays" displayed_is 1
    call Claim t "$ID" > /dev/null
    up "until it is claimed itself" 0
fi

# --- more than can be kept while notifyd is away

if [ "$name" = plasma ]; then
    stop "$DAEMON" KILL
    eventually "notifyd is killed" unowned $ROUTER
    /usr/bin/python3 - <<'PYTHON'
import dbus
server = dbus.Interface(dbus.SessionBus().get_object("org.freedesktop.Notifications", "/org/freedesktop/Notifications"),
                        "org.freedesktop.Notifications")
for number in range(1100):
    server.Notify("Flood", 0, "", f"number {number}", "", [], {}, 0)
PYTHON
    background "$T/notifyd-after.log" "$PRODUCTS/notifyd"
    DAEMON=$!
    eventually_quiet "$PATIENCE" owned $ROUTER || fail "notifyd does not start"
    dropped() { busctl --user --json=short get-property $BRIDGE $BRIDGE_PATH $BRIDGE_NAME Problems | jq -r '.data[][0] | select(contains("dropped")) | split(" ")[0]'; }
    flood() { call Unread s /app/Flood; }
    all_told() { [ "$(dropped)" = $((1100 - $(flood))) ]; }
    eventually "$name: each of 1,100 notifications is an event or is told to be dropped" all_told
    [ "$(flood)" -ge 1000 ] || fail "$name: only $(flood) were kept"
    ok "$name: 1,000 and those that were under way are kept"
    call ClaimTopic su /app/Flood 0 > /dev/null
    up "and closed, and the others stay" "$(dropped)"
fi
gone "$DESKTOP" && fail "notifyd-desktop has ended"
ok "$name: notifyd-desktop lives"

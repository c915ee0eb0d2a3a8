#!/bin/bash
# A sandboxed program notifies by the portal, and notifyd-desktop is the portal's backend: nothing is shown before notifyd has decided,
# and nothing at all for what is claimed. The portal is the real one, and so is the sandbox by which it tells who calls.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs bwrap bubblewrap
PORTAL=/usr/libexec/xdg-desktop-portal
[ -x $PORTAL ] || skip "xdg-desktop-portal is not installed; on Debian: apt-get install xdg-desktop-portal"
needs_python gi
start_bus
start_mock server
start_daemon <<'TOML'
[defaults]
window = "1s"
TOML
record_signals

start_desktop() {
    background "$T/desktop$1.log" "$PRODUCTS/notifyd-desktop"
    DESKTOP=$!
    eventually_quiet "$PATIENCE" owned org.freedesktop.impl.portal.desktop.notifyd ||
        fail "notifyd-desktop is not the portal's backend"
}

start_desktop 1
background "$T/permissions.log" /usr/libexec/xdg-permission-store
mkdir "$T/portals" "$XDG_CONFIG_HOME/xdg-desktop-portal"
cp "$RIGS/../../../systemd/notifyd.portal" "$T/portals"
# The first is for xdg-desktop-portal 1.17 and later, the second for older ones.
printf '[preferred]\norg.freedesktop.impl.portal.Notification=notifyd\n' |
    tee "$T/portals/portals.conf" > "$XDG_CONFIG_HOME/xdg-desktop-portal/portals.conf"
background "$T/portal.log" env XDG_DESKTOP_PORTAL_DIR="$T/portals" XDG_CURRENT_DESKTOP=notifyd:GNOME $PORTAL --verbose
eventually_quiet "$PATIENCE" owned org.freedesktop.portal.Desktop || fail "the portal does not start"

# Its root has the file by which the portal knows a program of Flatpak.
printf '[Application]\nname=org.example.Chat\n[Instance]\ninstance-id=1\napp-path=/app\n' > "$T/flatpak-info"
mkfifo "$T/commands"
bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc --dev /dev \
    --bind "$T" "$T" --ro-bind "$RIGS" "$T/rigs" --ro-bind "$T/flatpak-info" /.flatpak-info --die-with-parent \
    /usr/bin/python3 "$T/rigs/portal-program.py" < "$T/commands" > "$T/heard" 2> "$T/program.log" &
PROCESSES+=($!)
exec 4> "$T/commands"
eventually_quiet "$PATIENCE" owned org.example.Chat || skip "there is no sandbox here: $(tail -n 1 "$T/program.log")"

TOPIC=/app/org.example.Chat
program() { printf '%s\n' "$1" >&4; }
heard() { grep -qxF "$1" "$T/heard"; }
# event TITLE: the number of the event with this title.
event() {
    jq -r "select(.member == \"Event\" and .payload.data[2] == \"$1\") | .payload.data[1]" "$T/signals" 2> /dev/null | tail -n 1
}
published() { [ -n "$(event "$1")" ]; }
# shown TITLE: how often the server was asked to show it.
shown() { calls Notify | jq -r '.[3]' | grep -cxF "$1" || true; }
shown_is() { [ "$(shown "$1")" = "$2" ]; }
# banner TITLE: the number of its banner.
banners() { calls CloseNotification | jq -r '.[0]'; }
closed() { banners | grep -qx "$1"; }
signal() { mock EmitSignal sssav $SERVER "$1" "$2" 2 u "$3" "${2:1:1}" "$4" > "$T/emitted"; }

program '{"add": "a", "title": "Nobody looks", "body": "<b> & so", "priority": "urgent", "default-action": "open", "target": "room"}'
eventually "a notification of a sandboxed program is an event" published 'Nobody looks'
equal "and no banner while its window is open" 0 "$(shown 'Nobody looks')"
a=$(event 'Nobody looks')
eventually "it is shown when nobody has claimed it" shown_is 'Nobody looks' 1
eventually "as notifyd says" outcome_is "$a" shown
equal "once" 1 "$(shown 'Nobody looks')"
equal "at the topic of the program for which the portal vouches" $TOPIC \
    "$(jq -r "select(.member == \"Event\" and .payload.data[1] == $a) | .payload.data[0]" "$T/signals")"
equal "text is text" '&lt;b&gt; &amp; so' "$(calls Notify | jq -r 'select(.[3] == "Nobody looks") | .[4]')"
signal ActionInvoked us 1 default
eventually "the program hears that it was pressed, with the target" heard '{"pressed": ["a", "open", ["room"]]}'
signal NotificationClosed uu 1 2
eventually "and the event was seen" outcome_is "$a" retracted

program '{"add": "b", "title": "Somebody looks"}'
eventually "another notification is an event" published 'Somebody looks'
b=$(event 'Somebody looks')
equal "a claim in time suppresses" suppressed "$(call Claim t "$b")"
program '{"add": "c", "title": "Later", "default-action": "app.open", "buttons": [["Reply", "reply"], ["Mute", "app.mute"]]}'
eventually "what comes later is shown" shown_is Later 1
equal "and what was claimed is not" 0 "$(shown 'Somebody looks')"

c=$(event Later)
eventually "the outcome of what is up is known" outcome_is "$c" shown
program '{"add": "c", "title": "Later still", "default-action": "app.open", "buttons": [["Reply", "reply"], ["Mute", "app.mute"]]}'
eventually "the same id again replaces the event" outcome_is "$c" replaced
eventually "and the banner" shown_is 'Later still' 1
replaces() { calls Notify | jq -r "select(.[3] == \"$1\") | .[1]"; }
equal "in its place" 2 "$(replaces 'Later still')"
c=$(event 'Later still')
eventually "which notifyd hears" outcome_is "$c" shown
equal "nothing was closed for that" '' "$(banners | grep -vx 1)"
call Press ts "$c" reply > "$T/press.log"
eventually "a button that is pressed in the inbox reaches the program" heard '{"pressed": ["c", "reply", []]}'
eventually "and its banner is closed" closed 2

program '{"add": "d", "title": "Actions", "default-action": "app.open", "target": "x", "picture": true}'
eventually "a banner with an action of the application is up" shown_is Actions 1
eventually "as notifyd knows" outcome_is "$(event Actions)" shown
signal ActionInvoked us 3 default
icon=$(calls Notify | jq -r 'select(.[3] == "Actions") | .[2]')
equal "with its picture" 89504e47 "$(head -c 4 "${icon#file://}" | od -An -tx1 | tr -d ' ')"
eventually "which is activated" heard '{"activated": ["open", ["x"]]}'
signal NotificationClosed uu 3 2

program '{"add": "e", "title": "Taken back"}'
eventually "a notification waits" published 'Taken back'
program '{"remove": "e"}'
eventually "the program takes it back before it is shown" outcome_is "$(event 'Taken back')" withdrawn
program '{"add": "f", "title": "Shown and taken back"}'
eventually "another one comes" published 'Shown and taken back'
eventually "another one is shown" outcome_is "$(event 'Shown and taken back')" shown
program '{"remove": "f"}'
eventually "and its banner closed when the program takes it back" closed 4
eventually "as notifyd hears" outcome_is "$(event 'Shown and taken back')" withdrawn
equal "what was taken back before was never shown" 0 "$(shown 'Taken back')"
is_off_the_disk() { ! grep -aqR 'Shown and taken back' "$XDG_STATE_HOME/notifyd/desktop"; }
eventually "its text is in no file of this program any more" is_off_the_disk

# Nothing is lost, and nothing is shown twice, when this program or notifyd is killed.
program '{"add": "g", "title": "Held back"}'
eventually "a notification is held back" published 'Held back'
program '{"add": "h", "title": "Up"}'
eventually "another one comes" published Up
eventually "another one is up" outcome_is "$(event Up)" shown
program '{"add": "i", "title": "Held back too", "body": "1 < 2"}'
eventually "and a third one held back" published 'Held back too'
stop "$DESKTOP" KILL
eventually "notifyd-desktop is killed" unowned org.freedesktop.impl.portal.desktop.notifyd
eventually "notifyd decides meanwhile" outcome_is "$(event 'Held back too')" shown
start_desktop 2
eventually "the next one shows what is to be shown" shown_is 'Held back too' 1
equal "as text" '1 &lt; 2' "$(calls Notify | jq -r 'select(.[3] == "Held back too") | .[4]')"
equal "and nothing again" '1 1' "$(shown 'Held back') $(shown Up)"
up=$(calls Notify | jq -r 'select(.[1] == 0) | .[3]' | grep -nxF Up | cut -d: -f1)
equal "a claim of what was up before" retracted "$(call Claim t "$(event Up)")"
eventually "closes its banner" closed "$up"

stop "$DAEMON" KILL
eventually "notifyd is killed" unowned $ROUTER
program '{"add": "j", "title": "Without notifyd"}'
eventually "without notifyd a notification is shown" shown_is 'Without notifyd' 1
background "$T/notifyd-again.log" "$PRODUCTS/notifyd"
DAEMON=$!
eventually "notifyd is there again" owned $ROUTER
eventually "it hears of it" published 'Without notifyd'
j=$(event 'Without notifyd')
eventually "and decides" outcome_is "$j" shown
equal "it is shown once" 1 "$(shown 'Without notifyd')"

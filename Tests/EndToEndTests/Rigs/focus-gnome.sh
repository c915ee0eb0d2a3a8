#!/bin/bash
# notifyd-focus with the real GNOME Shell, without a screen: its extension reports real windows.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
source "$RIGS/gnome.bash"
needs_python gi
/usr/bin/python3 -c 'import gi; gi.require_version("Gtk", "4.0")' 2> /dev/null ||
    skip "GTK 4 is not there for Python; on Debian: apt-get install gir1.2-gtk-4.0"

# The extension as it is installed, in the form for this shell.
SOURCE=$RIGS/../../../Sources/Programs/notifyd-focus/gnome-shell
version=$(gnome-shell --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
extensions=$HOME/.local/share/gnome-shell/extensions
EXTENSION=notifyd-focus@notifyd.org
[ "$version" -ge 45 ] || EXTENSION=notifyd-focus-43@notifyd.org
mkdir -p "$extensions/$EXTENSION"
for file in extension.js metadata.json; do
    if [ "$version" -ge 45 ]; then
        cp "$SOURCE/notifyd-focus@notifyd.org/$file" "$extensions/$EXTENSION"
    else
        sed -f "$SOURCE/classic.sed" "$SOURCE/notifyd-focus@notifyd.org/$file" > "$extensions/$EXTENSION/$file"
    fi
done

cat > "$T/config/notifyd/focus.toml" << 'RULES'
[[screen]]
app = "firefox"
title = '^Post (?<id>[0-9]+) '
topic = "/post/{id}"

[[screen]]
app = "element"
topic = "/chat"
state = "visible"
RULES

start_bus
start_gnome_shell
start_daemon < /dev/null
in_shell 'imports.ui.main.overview.hide(); ""' > /dev/null

FOCUS=org.notifyd.Focus1
background "$T/focus.log" "$PRODUCTS/notifyd-focus"
focus=$!
state() { busctl --user --json=short call $FOCUS /org/notifyd/Focus1 $FOCUS Get 2> /dev/null | jq -r ".data[0].$1.data"; }
state_is() { [ "$(state "$1")" = "$2" ]; }
has_advice() { state detail | grep -q "gnome-extensions enable"; }
eventually "without its extension, it says what to do" has_advice

in_shell "imports.ui.main.extensionManager.enableExtension('$EXTENSION')" > /dev/null
eventually "with the extension, windows are followed" state_is following true
equal "by GNOME Shell" gnome "$(state source)"

# screens TOPIC\ STATE …: these are open, and no others.
screens() {
    [ "$(call ListScreens | jq -r '.[] | .[1] + " " + .[3]' | sort)" = "$(printf '%s\n' "$@")" ]
}
export WAYLAND_DISPLAY=wayland-0 GDK_BACKEND=wayland GSK_RENDERER=cairo
# window NAME APP TITLE: its lines are in the pipe NAME.
window() {
    mkfifo "$T/$1"
    /usr/bin/python3 "$RIGS/focus-window.py" "$2" "$3" < "$T/$1" > "$T/$1.log" 2>&1 &
    PROCESSES+=($!)
}
window chat element Lounge
chat=$!
exec 5> "$T/chat"
eventually "a window that is focused holds its screen" screens '/chat focused'
window post firefox 'Post 27 – Example'
post=$!
exec 6> "$T/post"
eventually "and one that can be seen" screens '/chat visible' '/post/27 focused'
echo 'Post 28 – Example' >&6
eventually "a new title is a new topic" screens '/chat visible' '/post/28 focused'
# raise APP
raise() {
    in_shell "global.get_window_actors().map(one => one.meta_window).filter(one => one.get_wm_class() === '$1')
        .forEach(one => one.activate(global.get_current_time())); ''" > /dev/null
}
raise element
eventually "another window is focused" screens '/chat focused'
echo minimise >&5
eventually "minimised, it holds none" screens '/post/28 focused'

stop "$focus" KILL
eventually "killed, it leaves no screen" screens
background "$T/focus2.log" "$PRODUCTS/notifyd-focus"
eventually "started again, it knows all windows" screens '/post/28 focused'

# A stranger is not believed.
! busctl --user call $FOCUS /org/notifyd/Focus1 org.notifyd.FocusSource1 Gone s 1 2> "$T/stranger" ||
    fail "anybody can report windows"
grep -q 'Access denied' "$T/stranger" || fail "a stranger is refused otherwise: $(cat "$T/stranger")"
ok "nobody else may report windows"

stop "$post"
eventually "a closed window holds none" screens
in_shell "imports.ui.main.extensionManager.disableExtension('$EXTENSION')" > /dev/null
eventually "without the extension it says so again" has_advice
if grep -E 'Lounge|Example' "$T"/focus*.log; then fail "a title is in the log"; fi
ok "no title is in the log"

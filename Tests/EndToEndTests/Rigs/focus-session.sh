#!/bin/bash
# The third part of focus.sh, run as the user, in a session that ends with this script.

source "$(dirname "$0")/rig.bash"
T=$(mktemp -d "$HOME/session.XXXXXX")
trap 'rig_end "$BASH_COMMAND"' EXIT
cd "$HOME"
unset DISPLAY WAYLAND_DISPLAY
export PATH=$HOME/.local/bin:$PATH

unit() { systemctl --user show --value --property="$1" notifyd-focus.service; }
focus() { notifyctl focus --json=short 2> /dev/null | jq -r "$1"; }
focus_is() { [ "$(focus "$1")" = "$2" ]; }
screens() {
    [ "$(call ListScreens | jq -r '.[] | .[1] + " " + .[3]' | sort)" = "$(printf '%s\n' "$@")" ]
}

mkdir -p "$HOME/.config/systemd/user" "$HOME/.config/notifyd"
cp /usr/lib/systemd/user/dbus.service "$HOME/.config/systemd/user/dbus.service"
background "$T/manager.log" /lib/systemd/systemd --user --log-target=console
eventually_quiet "$PATIENCE" test -S "$XDG_RUNTIME_DIR/systemd/private" || fail "the user manager does not start"
systemctl --user start dbus.socket || fail "the bus of the session does not start"
systemctl --user start notifyd || fail "notifyd does not start"

cat > "$HOME/.config/notifyd/focus.toml" << 'RULES'
[[screen]]
app = "firefox"
title = '^Post (?<id>[0-9]+) '
topic = "/post/{id}"
RULES
advice() { { notifyctl doctor --json=short || true; } | jq -r '.findings[] | select(.check == "focus").advice'; }
systemctl --user enable --quiet notifyd-focus
notifyctl doctor > "$T/doctor" || true
grep -q 'it is enabled, but graphical-session.target is not active' "$T/doctor" || fail "doctor: $(cat "$T/doctor")"
ok "doctor says that no desktop starts it"
line=$(advice)
systemctl --user start notifyd-focus ||
    fail "the unit does not start: $(systemctl --user show --property=Result,ExecMainStatus,StatusText notifyd-focus)"
equal "the unit starts, and says that it is ready" active "$(unit ActiveState)"
waits() { unit StatusText | grep -q 'waiting: there is no desktop'; }
eventually "without a desktop it waits" waits
case $(advice) in
    "The service manager knows of no display."*) ok "doctor says that nobody knows of a display" ;;
    *) fail "doctor advises: $(advice)" ;;
esac

# --- a desktop that comes later

background "$T/xvfb.log" Xvfb -displayfd 9 -screen 0 800x600x24 -nolisten tcp 9> "$T/display"
eventually_quiet "$PATIENCE" test -s "$T/display" || fail "Xvfb does not start"
DISPLAY=:$(cat "$T/display")
export DISPLAY
background "$T/openbox.log" openbox --sm-disable
# The line that a desktop runs which does not start the target.
bash -c "${line##*begins: }" || fail "what doctor advises cannot be done: $line"
eventually "with the line that doctor has advised windows are followed" focus_is .source x11

GDK_BACKEND=x11 GSK_RENDERER=cairo \
    background "$T/window.log" /usr/bin/python3 "$RIGS/focus-window.py" firefox 'Post 27 – Example'
window=$!
eventually "a window holds its screen" screens '/post/27 focused'
equal "notifyctl, which is in no sandbox, is told its title" 'Post 27 – Example' "$(focus .focused.title)"
call Send sss /post/27 news '' > /dev/null
claimed() { [ "$(notifyctl history -n 1 --json=short | jq -r .outcome)" = claimed ]; }
eventually "what it shows is claimed" claimed

# --- a locker that is installed meanwhile, and tells nobody

mkfifo "$T/unlocked"
printf '#!/bin/sh\nread -r line < %s\n' "$T/unlocked" > "$HOME/.local/bin/waylock"
chmod 755 "$HOME/.local/bin/waylock"
eventually "a locker is known" focus_is '.lockers | index("waylock") != null' true
background "$T/waylock.log" waylock
locker=$!
eventually "while it runs the screen is hidden" screens '/post/27 hidden'
call Send sss /post/27 news '' > /dev/null
unclaimed() { [ "$(notifyctl history -n 1 --json=short | jq -r .outcome)" != claimed ]; }
eventually "and what the window shows is not claimed" unclaimed
notifyctl doctor > "$T/doctor" || true
# The locker of another rig may be seen first.
grep -q ' is in front of them' "$T/doctor" || fail "doctor: $(cat "$T/doctor")"
stop "$locker"
eventually "when it has ended the screen counts again" screens '/post/27 focused'

# --- its configuration

printf '[[screen]]\napp = "firefox"\ntopic = "/web"\n' > "$HOME/.config/notifyd/focus.toml"
systemctl --user reload notifyd-focus || fail "it does not reload"
eventually "a new rule counts" screens '/web focused'
printf '[[screen]]\n' > "$HOME/.config/notifyd/focus.toml"
if systemctl --user reload notifyd-focus 2> "$T/reload"; then fail "a bad configuration is taken"; fi
eventually "with a bad one the previous one stays in force" screens '/web focused'

# --- its end

systemctl --user stop notifyd-focus || fail "it does not stop"
equal "stopped, it has not failed" success "$(unit Result)"
eventually "and leaves no screen" screens
stop "$window"

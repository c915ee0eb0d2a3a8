#!/bin/bash
# Notifications of programs while notifyd, notifyd-desktop and the notification server are killed in turn: each is at most one event, none
# is missing that came while both ran, no banner stays that was claimed, and none is closed that was not. NOTIFYD_DESKTOP_KILLS says how
# often something is killed.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs busctl systemd
needs_python dbus gi
start_bus
printf '[defaults]\nwindow = "50ms"\n' > "$XDG_CONFIG_HOME/notifyd/config.toml"
/usr/bin/python3 "$RIGS/desktop-kills.py" "$PRODUCTS" "${NOTIFYD_DESKTOP_KILLS:-9}" "$T" > "$T/kills" 2>&1 ||
    fail "$(cat "$T/kills")"
ok "$(tail -n 1 "$T/kills")"

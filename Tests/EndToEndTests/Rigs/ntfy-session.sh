#!/bin/bash
# The unit of notifyd-ntfy, a part of mqtt.sh: run as the user, in a session that ends with this script.

source "$(dirname "$0")/rig.bash"
T=$(mktemp -d "$HOME/session.XXXXXX")
trap 'rig_end "$BASH_COMMAND"' EXIT
cd "$HOME"

unit() { systemctl --user show --value --property="$1" notifyd-ntfy.service; }
bridge_is() {
    [ "$(busctl --user --json=short get-property org.notifyd.Bridge.ntfy /org/notifyd/Bridge1 org.notifyd.Bridge1 State \
        2> /dev/null | jq -r .data)" = "$1" ]
}

mkdir -p "$HOME/.config/systemd/user/notifyd-ntfy.service.d" "$HOME/.config/notifyd"
cp /usr/lib/systemd/user/dbus.service "$HOME/.config/systemd/user/dbus.service"
background "$T/manager.log" /lib/systemd/systemd --user --log-target=console
eventually_quiet "$PATIENCE" test -S "$XDG_RUNTIME_DIR/systemd/private" || fail "the user manager does not start"
systemctl --user start dbus.socket || fail "the bus of the session does not start"

background "$T/port" /usr/bin/python3 "$RIGS/ntfy_stand_in.py" --token right
eventually_quiet "$PATIENCE" test -s "$T/port" || fail "the server does not start"

# --- its secret is a credential

umask 077
printf 'right' > "$T/token"
printf '[Service]\nLoadCredential=ntfy:%s\n' "$T/token" \
    > "$HOME/.config/systemd/user/notifyd-ntfy.service.d/credentials.conf"
cat > "$HOME/.config/notifyd/ntfy.toml" <<TOML
[[server]]
url = "http://127.0.0.1:$(cat "$T/port")"
token = { credential = "ntfy" }
[[server.map]]
subscribe = ["a"]
topic = "/ntfy/{name}"
images = true
TOML
systemctl --user daemon-reload
systemctl --user start notifyd-ntfy ||
    fail "the unit does not start: $(systemctl --user show --property=Result,ExecMainStatus,StatusText notifyd-ntfy)"
equal "the unit of ntfy starts, and says that it is ready" active "$(unit ActiveState)"
eventually "it is connected, with its secret from a credential" bridge_is connected

# --- what the sandbox hides, and what it does not

process=$(unit MainPID)
if [ "$(readlink "/proc/$process/ns/user")" = "$(readlink /proc/self/ns/user)" ]; then
    say "users may have no user namespaces here: the journal is not hidden"
else
    inside() { nsenter --preserve-credentials --user --mount --target "$process" "$@"; }
    equal "it does not see the journal of notifyd" ntfy "$(inside ls "$HOME/.local/state/notifyd")"
    ! inside test -e "$T" || fail "it sees the home"
    inside touch "$XDG_RUNTIME_DIR/notifyd-ntfy/picture" || fail "it cannot keep a picture"
    [ -e "$XDG_RUNTIME_DIR/notifyd-ntfy/picture" ] || fail "nobody else sees its pictures"
    ok "of the home it sees its configuration and its state, and others see its pictures"
fi
systemctl --user reload notifyd-ntfy || fail "it does not reload"
eventually "after a reload it is connected" bridge_is connected
systemctl --user stop notifyd-ntfy || fail "it does not stop"
equal "it ends without an error" success "$(unit Result)"

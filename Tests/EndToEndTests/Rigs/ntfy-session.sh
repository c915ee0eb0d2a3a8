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

PNG=89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f6
PNG=${PNG}45400000000049454e44ae426082
background "$T/port" /usr/bin/python3 "$RIGS/ntfy_stand_in.py" --token right --picture "$PNG"
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

# --- it keeps a picture

server=http://127.0.0.1:$(cat "$T/port")
curl -fsS -H 'Authorization: Bearer right' -H "Icon: $server/icon.png" -d 'with a picture' "$server/a" > /dev/null
kept() { ls "$XDG_RUNTIME_DIR/notifyd-ntfy"/*.png > /dev/null 2>&1; }
eventually "a picture of a message is where the notification server can read it" kept
equal "only the user sees pictures" 700 "$(stat -c %a "$XDG_RUNTIME_DIR/notifyd-ntfy")"

# --- what the sandbox hides, and what it does not

process=$(unit MainPID)
if [ "$(readlink "/proc/$process/ns/user")" = "$(readlink /proc/self/ns/user)" ]; then
    say "users may have no user namespaces here: the journal is not hidden"
else
    inside() { nsenter --preserve-credentials --user --mount --target "$process" "$@"; }
    equal "it does not see the journal of notifyd" ntfy "$(inside ls "$HOME/.local/state/notifyd")"
    ! inside test -e "$T" || fail "it sees the home"
    ok "of the home it sees its configuration and its state"
fi
systemctl --user reload notifyd-ntfy || fail "it does not reload"
eventually "after a reload it is connected" bridge_is connected
systemctl --user stop notifyd-ntfy || fail "it does not stop"
equal "it ends without an error" success "$(unit Result)"
kept || fail "the picture went with the service"
ok "the picture stays, since its banner does"

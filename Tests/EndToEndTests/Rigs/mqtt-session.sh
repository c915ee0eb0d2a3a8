#!/bin/bash
# The third part of mqtt.sh, run as the user, in a session that ends with this script.

source "$(dirname "$0")/rig.bash"
T=$(mktemp -d "$HOME/session.XXXXXX")
trap 'rig_end "$BASH_COMMAND"' EXIT
cd "$HOME"

unit() { systemctl --user show --value --property="$1" notifyd-mqtt.service; }
bridge() {
    busctl --user --json=short get-property org.notifyd.Bridge.mqtt /org/notifyd/Bridge1 org.notifyd.Bridge1 "$1" \
        2> /dev/null | jq -r .data
}
bridge_is() { [ "$(bridge State)" = "$1" ]; }

mkdir -p "$HOME/.config/systemd/user/notifyd-mqtt.service.d" "$HOME/.config/notifyd"
cp /usr/lib/systemd/user/dbus.service "$HOME/.config/systemd/user/dbus.service"
background "$T/manager.log" /lib/systemd/systemd --user --log-target=console
eventually_quiet "$PATIENCE" test -S "$XDG_RUNTIME_DIR/systemd/private" || fail "the user manager does not start"
systemctl --user start dbus.socket || fail "the bus of the session does not start"

# --- a broker that wants a password

port=$(/usr/bin/python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
: > "$T/passwords"
mosquitto_passwd -b "$T/passwords" mina right
printf '%s\n' "listener $port 127.0.0.1" "allow_anonymous false" "password_file $T/passwords" > "$T/broker.conf"
background "$T/broker.log" /usr/sbin/mosquitto -c "$T/broker.conf"
eventually_quiet "$PATIENCE" grep -qs running "$T/broker.log" || fail "the broker does not start"

# --- without a configuration there is nothing to do

systemctl --user start notifyd-mqtt || fail "a unit without a configuration fails"
equal "without a configuration it is not started" inactive "$(unit ActiveState)"

# --- secrets as credentials

umask 077
printf 'right' > "$T/password"
head -c 32 /dev/urandom | base64 > "$T/key"
printf '[Service]\nLoadCredential=mqtt:%s\nLoadCredential=link:%s\n' "$T/password" "$T/key" \
    > "$HOME/.config/systemd/user/notifyd-mqtt.service.d/credentials.conf"
cat > "$HOME/.config/notifyd/mqtt.toml" <<TOML
[link]
server = "mqtt://127.0.0.1:$port"
user = "mina"
name = "desk"
password = { credential = "mqtt" }
key = { credential = "link" }
TOML
systemctl --user daemon-reload
systemctl --user start notifyd-mqtt ||
    fail "the unit does not start: $(systemctl --user show --property=Result,ExecMainStatus,StatusText notifyd-mqtt)"
equal "the unit starts, and says that it is ready" active "$(unit ActiveState)"
eventually "it is connected, with secrets from credentials" bridge_is connected
[ -n "$(unit StatusText)" ] || fail "it tells systemd no status"
ok "systemctl status says: $(unit StatusText)"
[ -s "$HOME/.local/state/notifyd/mqtt/state.db" ] || fail "it keeps no state"
ok "its state is on disk"

# --- what the sandbox hides

process=$(unit MainPID)
if [ "$(readlink "/proc/$process/ns/user")" = "$(readlink /proc/self/ns/user)" ]; then
    say "users may have no user namespaces here: the journal is not hidden"
else
    # Its view of the files is that of its process.
    inside() { nsenter --preserve-credentials --user --mount --target "$process" "$@"; }
    equal "it does not see the journal of notifyd" mqtt "$(inside ls "$HOME/.local/state/notifyd")"
    ! inside test -e "$T" || fail "it sees the home"
    inside test -e "$HOME/.config/notifyd/mqtt.toml" || fail "it does not see its configuration"
    ok "of the home it sees its configuration and its state"
fi

# --- it comes back

kill -KILL "$process"
restarted() { [ "$(unit MainPID)" != "$process" ] && bridge_is connected; }
eventually "after a crash it is started again" restarted
systemctl --user reload notifyd-mqtt || fail "it does not reload"
eventually "after a reload it is connected" bridge_is connected
systemctl --user stop notifyd-mqtt || fail "it does not stop"
equal "it ends without an error" success "$(unit Result)"

# --- notifyd-unifiedpush, which the bus starts

export PATH=$HOME/.local/bin:$PATH

unit() { systemctl --user show --value --property="$1" notifyd-unifiedpush.service; }
push_says() {
    [ "$(busctl --user --json=short get-property org.notifyd.Bridge.unifiedpush /org/notifyd/Bridge1 org.notifyd.Bridge1 State \
        2> /dev/null | jq -r .data)" = "$1" ]
}
busctl --user call org.freedesktop.DBus / org.freedesktop.DBus StartServiceByName su org.notifyd.UnifiedPush 0 > "$T/start.log" ||
    fail "the bus does not start notifyd-unifiedpush: $(systemctl --user status notifyd-unifiedpush)"
equal "the bus starts notifyd-unifiedpush by its unit" active "$(unit ActiveState)"
eventually "without an endpoint all is well" push_says connected
notifyctl push-endpoint create post --topic /post > "$T/create.log" || fail "no endpoint is made"
eventually "without a distributor it waits" push_says waiting
process=$(unit MainPID)
if [ "$(readlink "/proc/$process/ns/user")" != "$(readlink /proc/self/ns/user)" ]; then
    [ "$(readlink "/proc/$process/ns/net")" != "$(readlink /proc/self/ns/net)" ] || fail "it has the network"
    equal "it sees neither the network nor the journal" unifiedpush "$(inside ls "$HOME/.local/state/notifyd")"
fi
kill -KILL "$process"
restarted() { [ "$(unit MainPID)" != "$process" ] && push_says waiting; }
eventually "after a crash it is started again" restarted
equal "with its endpoint" post "$(notifyctl push-endpoint list --json=short | jq -r .name)"
systemctl --user reload notifyd-unifiedpush || fail "it does not reload"
systemctl --user stop notifyd-unifiedpush || fail "it does not stop"
equal "it ends without an error" success "$(unit Result)"

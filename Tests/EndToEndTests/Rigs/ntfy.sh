#!/bin/bash
# notifyd-ntfy between a real notifyd and a stand-in for a server of ntfy: in, out, and every fault. What happens is in ntfy.py.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs curl curl apprise apprise openssl openssl
needs_python dbusmock jeepney
[ -x "$PRODUCTS/notifyd-ntfy" ] || skip "notifyd-ntfy is not built"
start_bus
start_mock server

# Nobody is there when a test says so: python-dbusmock as logind, on a system bus of our own.
sed -e 's|<type>session|<type>system|' -e "s|unix:path=$T/bus|unix:path=$T/system|" "$T/bus.conf" > "$T/system.conf"
background "$T/system.log" dbus-daemon --config-file="$T/system.conf" --nofork --nopidfile
eventually_quiet "$PATIENCE" test -S "$T/system" || fail "the private system bus does not start"
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$T/system
background "$T/logind.log" /usr/bin/python3 -m dbusmock --system -t logind

export PYTHONPATH=$RIGS/../../../python/src
/usr/bin/python3 "$RIGS/ntfy.py" "$PRODUCTS" "$T" "${@:2}" || fail "notifyd-ntfy does not do what it should"

# What would end the bridge is told before it is in force.
echo "no certificate" > "$T/junk.pem"
printf '[[server]]\nurl = "https://localhost:1"\nauthorities = "%s"\n[[server.map]]\nsubscribe = ["a"]\ntopic = "/a"\n' \
    "$T/junk.pem" > "$T/junk.toml"
"$PRODUCTS/notifyd-ntfy" --config "$T/junk.toml" --check-config 2> "$T/junk.log" && fail "junk is taken for certificates"
grep -q 'junk.pem has no certificate that can be read' "$T/junk.log" || fail "it does not say what is wrong: $(cat "$T/junk.log")"
ok "a file without certificates is a mistake in the configuration"

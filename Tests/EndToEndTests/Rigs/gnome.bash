# A real GNOME Shell without a screen, for rigs. It has a logind of its own, and buses that start nothing else.
#
# shellcheck shell=bash disable=SC2034

needs gnome-shell gnome-shell gjs gjs
needs_python dbusmock gi
NOTIFICATIONS=org.gnome.Shell.Notifications
[ -f /usr/share/dbus-1/services/$NOTIFICATIONS.service ] ||
    skip "gnome-shell has no $NOTIFICATIONS; it comes with GNOME 3.36 and newer"

# start_bus_at TYPE SOCKET: its process id is in BUS.
start_bus_at() {
    sed -e "s|<type>session|<type>$1|" -e "s|unix:path=$T/bus|unix:path=$T/$2|" "$T/bus.conf" > "$T/$1.conf"
    background "$T/$1.log" dbus-daemon --config-file="$T/$1.conf" --nofork --nopidfile
    BUS=$!
    eventually_quiet "$PATIENCE" test -S "$T/$2" || fail "the private $1 bus does not start"
}

LOGIN=org.freedesktop.login1
login_call() { busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" --json=short call "$@" > /dev/null 2>&1; }
login_is_there() { login_call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s $LOGIN; }

start_shell() {
    background "$T/gnome-shell.log" gnome-shell --unsafe-mode --headless --wayland --no-x11 --virtual-monitor 1024x600
    SHELL_PROCESS=$!
}
# in_shell SCRIPT: what the shell's JavaScript makes of it.
in_shell() {
    busctl --user --timeout=10 --json=short call org.gnome.Shell /org/gnome/Shell org.gnome.Shell Eval s "$1" |
        jq -r '.data[1] | fromjson'
}
# The name is there before the shell can show anything.
shows() {
    busctl --user --timeout=5 call $SERVER $SERVER_PATH $SERVER GetCapabilities 2> /dev/null | grep -q '"body"'
}
shell_is_there() {
    if gone "$SHELL_PROCESS"; then fail "gnome-shell has ended"; fi
    owned $SERVER && shows && [ "$(in_shell '!imports.ui.main.layoutManager._startingUp' 2> /dev/null)" = true ]
}

# start_gnome_shell: just after start_bus, whose bus it replaces.
start_gnome_shell() {
    local attempt
    # The shell has the bus start what it needs. Nothing else may be started: another server's service would come first.
    mkdir "$T/services"
    cp /usr/share/dbus-1/services/$NOTIFICATIONS.service "$T/services"
    sed -i "s|</busconfig>|<servicedir>$T/services</servicedir></busconfig>|" "$T/bus.conf"
    stop "${PROCESSES[0]}"
    rm -f "$T/bus"
    export XDG_SESSION_ID=c1 XDG_SESSION_TYPE=wayland XDG_CURRENT_DESKTOP=GNOME GSETTINGS_BACKEND=memory
    export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$T/system
    start_bus_at session bus
    SESSION_BUS=$BUS
    start_bus_at system system
    background "$T/logind.log" /usr/bin/python3 -m dbusmock --system -t logind
    eventually_quiet "$PATIENCE" login_is_there || fail "python-dbusmock does not take the name $LOGIN"
    login_call $LOGIN /org/freedesktop/login1 org.freedesktop.DBus.Mock AddSession \
        ssusb c1 seat0 "$(id -u)" somebody true
    # Now and then the shell hangs as it starts, long before it hears of notifyd: it waits for a child that got stuck before it
    # became another program. That child also keeps the connection to the bus.
    for attempt in 1 2 3; do
        start_shell
        if eventually_quiet 20 shell_is_there; then break; fi
        [ "$attempt" -lt 3 ] || fail "GNOME Shell does not start"
        pkill -KILL --parent "$SHELL_PROCESS" gnome-shell || true
        stop "$SHELL_PROCESS" KILL
        # The bus may notice later than we do, and a new shell ends where the name is taken.
        stop "$SESSION_BUS" KILL
        rm -f "$T/bus"
        start_bus_at session bus
        SESSION_BUS=$BUS
    done
}

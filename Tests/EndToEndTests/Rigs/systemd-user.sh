#!/bin/bash
# The unit under a real systemd user manager, on both buses a desktop may have. Root is needed only to make a
# user that is nobody else's and a view of the machine (mounts, processes) in which that user has a session.
#
#   systemd-user.sh             makes the user, installs notifyd for it, and undoes all of it
#   systemd-user-namespace.sh   makes the session's surroundings and becomes the user
#   systemd-user-session.sh     is the user: starts the manager and checks the facts

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
[ "$(id -u)" -eq 0 ] || skip "only root can make a user and a session for it"
needs systemctl systemd dbus-daemon dbus-daemon busctl systemd gdbus libglib2.0-bin jq jq make make
needs unshare util-linux setpriv util-linux useradd passwd
needs_python dbusmock
[ -e /usr/lib/systemd/user/dbus.service ] ||
    skip "there is no dbus.service for users; on Debian: apt-get install dbus-user-session"
unshare --mount --pid --fork true 2> /dev/null ||
    skip "no namespaces may be made here (in a container: --privileged)"

USER_NAME=notifyd-rig-$$
CGROUP=notifyd-rig-$$

undo() {
    local status=$? folder
    set +e
    userdel "$USER_NAME" 2> /dev/null
    for folder in /sys/fs/cgroup /sys/fs/cgroup/*; do
        [ ! -d "$folder/$CGROUP" ] || find "$folder/$CGROUP" -depth -type d -exec rmdir {} + 2> /dev/null
    done
    (exit $status)
    rig_end "$BASH_COMMAND"
}
trap undo EXIT

make_for_user() {
    HOME=$T/user make --no-print-directory -C "$RIGS/../../.." PREFIX="$T/user/.local" "$@" \
        > "$T/make.log" 2>&1 || fail "make $1 fails"
}

# install_for_user: what "make install PREFIX=~/.local" installs, with the programs that are built already.
install_for_user() {
    chmod 711 "$T"
    useradd --home-dir "$T/user" --create-home --shell /bin/bash "$USER_NAME"
    make_for_user install-files BUILT="$PRODUCTS"
    # A development build uses the Swift libraries of its toolchain, which may lie where this user cannot read.
    local library
    { ldd "$PRODUCTS/notifyd" || true; } 2> /dev/null |
        awk '$2 == "=>" && $3 !~ "^/(usr/)?lib" { print $3 }' |
        while read -r library; do
            cp -L "$library" "$T/user/.local/bin/"
        done
    chown -R "$USER_NAME": "$T/user"
    ok "make installs into a home directory"
}

# session BUS: all facts on that bus, with nothing left of the session before.
session() {
    say "on $1:"
    local status=0
    unshare --mount --pid --fork --kill-child --mount-proc --propagation private \
        bash "$RIGS/systemd-user-namespace.sh" "$USER_NAME" "$CGROUP" "$T" "$1" < /dev/null || status=$?
    [ $status -eq 0 ] || { REPORTED=yes && exit $status; }
}

install_for_user
session dbus-daemon
if command -v dbus-broker-launch > /dev/null; then
    session dbus-broker
fi

make_for_user uninstall
# The journal is the user's, and stays.
equal "make uninstall leaves nothing of notifyd but its state" '' \
    "$(find "$T/user/.local" -path "*/state/notifyd" -prune -o -name '*notify*' -print)"

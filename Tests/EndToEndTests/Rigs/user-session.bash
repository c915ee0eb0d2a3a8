# What the rigs of the unit share: a user that is nobody else's, and a view of the machine (mounts, processes, shared memory) in
# which that user has a session. Root is needed only for that.
#
#   systemd-user.sh, sandbox.sh, …   make the user, install notifyd for it, and undo all of it
#   systemd-user-namespace.sh        makes the session's surroundings and becomes the user
#   …-session.sh                     is the user: starts the manager and checks the facts
#
# shellcheck shell=bash disable=SC2034

needs_user_session() {
    [ "$(id -u)" -eq 0 ] || skip "only root can make a user and a session for it"
    needs systemctl systemd dbus-daemon dbus-daemon busctl systemd gdbus libglib2.0-bin jq jq make make
    needs unshare util-linux setpriv util-linux useradd passwd
    needs_python dbusmock
    [ -e /usr/lib/systemd/user/dbus.service ] ||
        skip "there is no dbus.service for users; on Debian: apt-get install dbus-user-session"
    unshare --mount --ipc --pid --fork true 2> /dev/null ||
        skip "no namespaces may be made here (in a container: --privileged)"
    trap undo_user EXIT
}

USER_NAME=notifyd-rig-$$
CGROUP=notifyd-rig-$$.slice
# Not below /tmp, which the sandbox hides; there is such a folder only where the session runs.
USER_HOME=/home/$USER_NAME

undo_user() {
    local status=$? folder
    set +e
    userdel "$USER_NAME" 2> /dev/null
    for folder in /sys/fs/cgroup /sys/fs/cgroup/*; do
        [ ! -d "$folder/$CGROUP" ] || find "$folder/$CGROUP" -depth -type d -exec rmdir {} + 2> /dev/null
    done
    (exit $status)
    rig_end "$BASH_COMMAND"
}

make_for_user() {
    HOME=$USER_HOME make --no-print-directory -C "$RIGS/../../.." PREFIX="$USER_HOME/.local" DESTDIR="$T" "$@" \
        > "$T/make.log" 2>&1 || fail "make $1 fails"
}

# install_for_user: what "make install PREFIX=~/.local" installs, with the programs that are built already.
install_for_user() {
    chmod 711 "$T"
    useradd --home-dir "$USER_HOME" --no-create-home --shell /bin/bash "$USER_NAME"
    make_for_user install-files BUILT="$PRODUCTS"
    # A development build uses the Swift libraries of its toolchain, which may lie where this user cannot read.
    local library
    { ldd "$PRODUCTS/notifyd" "$PRODUCTS/notifyd-mqtt" "$PRODUCTS/notifyd-focus" "$PRODUCTS/notifyd-ntfy" || true; } 2> /dev/null |
        awk '$2 == "=>" && $3 !~ "^/(usr/)?lib" { print $3 }' |
        sort -u | while read -r library; do
            cp -L "$library" "$T$USER_HOME/.local/bin/"
        done
    chown -R "$USER_NAME": "$T$USER_HOME"
    ok "make installs into a home directory"
}

# session SCRIPT ARGUMENT …: the script as that user, with nothing left of the session before.
SURROUNDINGS=() # a command that runs it
session() {
    local status=0
    "${SURROUNDINGS[@]}" unshare --mount --ipc --pid --fork --kill-child --mount-proc --propagation private \
        bash "$RIGS/systemd-user-namespace.sh" "$USER_NAME" "$CGROUP" "$T" "$RIGS/../../.." "$1" "$T" "${@:2}" < /dev/null ||
        status=$?
    [ $status -eq 0 ] || { REPORTED=yes && exit $status; }
}

#!/bin/bash
# Root sends to the sessions of users: each has a bus of its own, which takes no connection of root.

# shellcheck source=rig.bash
source "$(dirname "$0")/rig.bash"
rig_begin "$@"
[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
needs unshare util-linux setpriv util-linux dbus-daemon dbus-daemon busctl systemd jq jq
unshare --mount true 2> /dev/null || skip "no namespace may be made here (in a container: --privileged)"

# What the users run has to be readable for them; a development build uses the Swift libraries of its toolchain.
chmod 711 "$T"
mkdir "$T/bin"
cp "$PRODUCTS/notifyd" "$PRODUCTS/notifyctl" "$T/bin/"
{ ldd "$PRODUCTS/notifyd" "$PRODUCTS/notifyctl" || true; } 2> /dev/null |
    awk '$2 == "=>" && $3 !~ "^/(usr/)?lib" { print $3 }' | sort -u |
    while read -r library; do cp -L "$library" "$T/bin/"; done
chmod -R go+rX "$T/bin"

status=0
unshare --mount --propagation private bash "$RIGS/users-namespace.sh" "$T" "$RIGS" < /dev/null || status=$?
[ $status -eq 0 ] || { REPORTED=yes && exit $status; }

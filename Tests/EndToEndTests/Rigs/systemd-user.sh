#!/bin/bash
# The unit under a real systemd user manager, on both buses a desktop may have.

source "$(dirname "$0")/rig.bash"
source "$(dirname "$0")/user-session.bash"
rig_begin "$@"
needs_user_session
needs_python gi

install_for_user
say "on dbus-daemon:"
session systemd-user-session.sh dbus-daemon "$CGROUP"
if command -v dbus-broker-launch > /dev/null; then
    say "on dbus-broker:"
    session systemd-user-session.sh dbus-broker "$CGROUP"
fi

make_for_user uninstall
# The journal is the user's, and stays.
equal "make uninstall leaves nothing of notifyd but its state" '' \
    "$(find "$T$USER_HOME/.local" -path "*/state/notifyd" -prune -o -name '*notify*' -print)"

#!/bin/bash
# A configuration with mistakes under a real systemd user manager, on both buses a desktop may have: every caller has its
# answer at once, and the unit fails.

source "$(dirname "$0")/rig.bash"
source "$(dirname "$0")/user-session.bash"
rig_begin "$@"
needs_user_session

install_for_user
say "on dbus-daemon:"
session bad-configuration-session.sh dbus-daemon "$CGROUP"
if command -v dbus-broker-launch > /dev/null; then
    say "on dbus-broker:"
    session bad-configuration-session.sh dbus-broker "$CGROUP"
fi

#!/bin/bash
# The unit where users get no user namespaces, as on Ubuntu: the doctor names the reason, and what it advises helps.

source "$(dirname "$0")/rig.bash"
source "$(dirname "$0")/user-session.bash"
rig_begin "$@"
needs_user_session
SURROUNDINGS=(/usr/bin/python3 "$RIGS/without-user-namespaces.py")
"${SURROUNDINGS[@]}" true || skip "no user namespace may be made here"

install_for_user
session no-namespaces-session.sh "$CGROUP"

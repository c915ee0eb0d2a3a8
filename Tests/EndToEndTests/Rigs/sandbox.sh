#!/bin/bash
# What the unit forbids is really forbidden: for each of its lines a probe tries it under a real user manager.

source "$(dirname "$0")/rig.bash"
source "$(dirname "$0")/user-session.bash"
rig_begin "$@"
needs_user_session
needs systemd-run systemd systemd-analyze systemd ipcmk util-linux

install_for_user
session sandbox-session.sh

#!/bin/bash
# The units of the bridges under a real systemd user manager, with their whole sandboxes, a broker and a server.

source "$(dirname "$0")/rig.bash"
source "$(dirname "$0")/user-session.bash"
rig_begin "$@"
needs_user_session
[ -x /usr/sbin/mosquitto ] || skip "there is no mosquitto; on Debian: apt-get install mosquitto"

install_for_user
session mqtt-session.sh
session ntfy-session.sh

#!/bin/bash
# The unit of notifyd-focus under a real systemd user manager, with its sandbox and windows of an X server.

source "$(dirname "$0")/rig.bash"
source "$(dirname "$0")/user-session.bash"
rig_begin "$@"
needs_user_session
needs Xvfb xvfb openbox openbox
needs_python gi
/usr/bin/python3 -c 'import gi; gi.require_version("Gtk", "4.0")' 2> /dev/null ||
    skip "GTK 4 is not there for Python; on Debian: apt-get install gir1.2-gtk-4.0"

install_for_user
session focus-session.sh

#!/bin/bash
# The second part of systemd-user.sh, run as root in mount and process namespaces of its own: what a login
# would have prepared. Becomes the user at its end.

set -euo pipefail
user=$1 cgroup=$2 folder=$3 bus=$4
id=$(id -u "$user")
home=$(getent passwd "$user" | cut -d: -f6)

mount -t tmpfs -o mode=755 tmpfs /run # systemd wants /run to be a mount point
mkdir -p /run/systemd/system /run/systemd/journal /run/systemd/inaccessible
mkdir -m 700 /run/systemd/unit-root
install -d -m 755 /run/user
install -d -m 700 -o "$user" -g "$user" "/run/user/$id" # the manager accepts no other XDG_RUNTIME_DIR
(
    cd /run/systemd/inaccessible
    : > reg
    mkdir dir
    mkfifo fifo
    mknod chr c 0 0 2> /dev/null || true
    mknod blk b 0 0 2> /dev/null || true
    chmod 000 ./*
)

# A branch of each hierarchy that the user may change, as logind would delegate it.
hierarchies=(/sys/fs/cgroup)
[ -e /sys/fs/cgroup/cgroup.controllers ] || hierarchies=(/sys/fs/cgroup/*)
for hierarchy in "${hierarchies[@]}"; do
    # cpuset's children are not usable before they are given processors and memory.
    if [ ! -e "$hierarchy/cgroup.procs" ] || [ -e "$hierarchy/cpuset.cpus" ]; then continue; fi
    mkdir -p "$hierarchy/$cgroup"
    chown -R "$user" "$hierarchy/$cgroup"
    echo $$ > "$hierarchy/$cgroup/cgroup.procs"
done || {
    echo "SKIPPED: control groups cannot be changed here (in a container: --privileged)"
    exit 77
}

/usr/bin/python3 "$(dirname "$0")/fake-journal.py" /run/systemd/journal "$folder/records" &

exec setpriv --reuid="$user" --regid="$user" --init-groups env --ignore-environment \
    HOME="$home" USER="$user" PATH=/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 \
    XDG_RUNTIME_DIR="/run/user/$id" DBUS_SESSION_BUS_ADDRESS="unix:path=/run/user/$id/bus" \
    bash "$(dirname "$0")/systemd-user-session.sh" "$folder" "$bus"

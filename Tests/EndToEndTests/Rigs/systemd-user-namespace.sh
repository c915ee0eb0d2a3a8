#!/bin/bash
# The second part of the rigs of the unit, run as root in namespaces of its own: what a login
# would have prepared. Becomes the user at its end, and runs the script it is given.

set -euo pipefail
user=$1 cgroup=$2 folder=$3 sources=$4 script=$5
shift 5
id=$(id -u "$user")
home=$(getent passwd "$user" | cut -d: -f6)

mount -t tmpfs -o mode=755 tmpfs /run # systemd wants /run to be a mount point
mkdir -p /run/systemd/system /run/systemd/journal /run/systemd/inaccessible
# Wherever they are, the user need not be let in there, nor into the folder that a clone is.
for part in Tests/EndToEndTests/Rigs examples; do
    mkdir -p "/run/sources/$part"
    mount --bind "$sources/$part" "/run/sources/$part"
done
rigs=/run/sources/Tests/EndToEndTests/Rigs
# Where the file systems of a unit are put together, before systemd 254 and from then on.
mkdir -m 700 /run/systemd/unit-root
mkdir -m 555 /run/systemd/mount-rootfs
install -d -m 755 /run/user
mkdir -m 1777 /run/lock
mkdir /run/credentials # the services of the system have credentials, and those of users need the folder
# For the probes of the sandbox: a folder for everybody that no line hides, and a program with the rights of root.
mount -t tmpfs -o mode=1777 tmpfs /mnt
install -m 4755 /usr/bin/id /mnt/setuid-id
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
mount -t tmpfs -o mode=755 tmpfs /home
mkdir "$home"
mount --bind "$folder$home" "$home"

# A branch of each hierarchy that the user may change, as logind would delegate it. In it this script has one group, and the
# user manager has another, by whose name it is known whose units are in it.
hierarchies=(/sys/fs/cgroup)
[ -e /sys/fs/cgroup/cgroup.controllers ] || hierarchies=(/sys/fs/cgroup/*)
for hierarchy in "${hierarchies[@]}"; do
    # cpuset's children are not usable before they are given processors and memory.
    if [ ! -e "$hierarchy/cgroup.procs" ] || [ -e "$hierarchy/cpuset.cpus" ]; then continue; fi
    branch=$hierarchy/$cgroup
    mkdir -p "$branch/rig.scope" "$branch/user@$id.service"
    chown -R "$user" "$branch"
    echo $$ > "$branch/rig.scope/cgroup.procs"
    if [ -s "$branch/cgroup.controllers" ]; then
        sed 's/[^ ][^ ]*/+&/g' "$branch/cgroup.controllers" > "$branch/cgroup.subtree_control" || true
    fi
done || {
    echo "SKIPPED: control groups cannot be changed here (in a container: --privileged)"
    exit 77
}

/usr/bin/python3 "$rigs/fake-journal.py" /run/systemd/journal "$folder/records" &

exec setpriv --reuid="$user" --regid="$user" --init-groups env --ignore-environment \
    HOME="$home" USER="$user" PATH=/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 \
    XDG_RUNTIME_DIR="/run/user/$id" DBUS_SESSION_BUS_ADDRESS="unix:path=/run/user/$id/bus" \
    bash "$rigs/$script" "$@"

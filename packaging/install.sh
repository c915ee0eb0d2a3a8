#!/bin/sh
# Installs notifyd from the folder that this script is in, or removes it.

set -eu
here=$(CDPATH='' cd "$(dirname "$0")" && pwd)
tree=$here/tree
home=${HOME:-/nonexistent}
home=${home%/}

usage() {
    cat << 'TEXT'
usage: install.sh [--user | --prefix DIR] [--uninstall]

  --user         install for yourself, in ~/.local; this needs no root
  --prefix DIR   install in DIR, such as /usr/local or /opt/notifyd
  --uninstall    remove what was installed there

Without --user and --prefix, root installs in /usr/local, and anybody else as
with --user.
TEXT
}

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit "${2:-1}"
}

# Each shared library that a program needs, and what its package is called on Debian and Ubuntu, Fedora, Arch and openSUSE.
libraries='
libcrypto.so.3 libssl3 openssl-libs openssl libopenssl3
libdbus-1.so.3 libdbus-1-3 dbus-libs dbus libdbus-1-3
libgcc_s.so.1 libgcc-s1 libgcc gcc-libs libgcc_s1
libmosquitto.so.1 libmosquitto1 mosquitto mosquitto libmosquitto1
libpcre2-8.so.0 libpcre2-8-0 pcre2 pcre2 libpcre2-8-0
libsqlite3.so.0 libsqlite3-0 sqlite-libs sqlite libsqlite3-0
libssl.so.3 libssl3 openssl-libs openssl libopenssl3
libstdc++.so.6 libstdc++6 libstdc++ gcc-libs libstdc++6
libsystemd.so.0 libsystemd0 systemd-libs systemd-libs libsystemd0
libwayland-client.so.0 libwayland-client0 libwayland-client wayland libwayland-client0
libxcb.so.1 libxcb1 libxcb libxcb libxcb1
libz.so.1 zlib1g zlib-ng-compat zlib libz1
'

prefix=''
action=install
while [ $# -gt 0 ]; do
    case $1 in
        --user) prefix=$home/.local ;;
        --prefix)
            [ $# -ge 2 ] || fail '--prefix needs a folder' 64
            prefix=$2
            shift
            ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --uninstall) action=uninstall ;;
        -h | --help)
            usage
            exit
            ;;
        *)
            usage >&2
            exit 64
            ;;
    esac
    shift
done
if [ -z "$prefix" ]; then
    if [ "$(id -u)" -eq 0 ]; then prefix=/usr/local; else prefix=$home/.local; fi
fi
prefix=${prefix%/}
case $prefix in
    /*) ;;
    *) fail "the folder must begin with '/'; it is '$prefix'" 64 ;;
esac
# Units, sed, shells and PATH would read these in their own way.
case $prefix in
    *[[:space:]\|\&\\%\"\'\$\`:\;\<\>\(\)\*\?\#]*)
        fail "the folder must not have spaces or any of | & \\ % \" ' \$ \` : ; < > ( ) * ? # in its name; it is '$prefix'" 64
        ;;
esac
# Packages are made below another root.
root=${DESTDIR:-}
list=$prefix/share/notifyd/installed

# systemd looks for units of the user in a home directory's share, and of everybody in lib.
case $prefix in
    "$home"/*) mine=yes ;;
    *) mine=no ;;
esac
# With sudo -E, for example, the home is that of somebody who could not use what root writes there.
if [ "$(id -u)" -eq 0 ] && [ -z "$root" ] && [ $mine = yes ] && [ ! -O "$home" ]; then
    fail "HOME is $home, which does not belong to root; run this as the user that it belongs to, or with --prefix /usr/local" 77
fi
manager() {
    [ -z "$root" ] && [ $mine = yes ] && command -v systemctl > /dev/null && systemctl --user "$@" > /dev/null 2>&1
}

# remove [KEEP]: removes the files that are installed there, but for those that KEEP lists. The list has files and, with a "/" at
# their end, the folders that were made for them.
remove() {
    [ -e "$root$list" ] || return 0
    LC_ALL=C grep -v '/$' "$root$list" | LC_ALL=C grep -v -x -F -f "${1:-/dev/null}" | while read -r path; do
        # The second is there if an installation was stopped. The list goes last.
        [ "$path" = "$list" ] || rm -f "$root$path" "$root$path.new" || true
    done
}

# still WHAT: says what could not be done.
done=yes
still() {
    printf 'install.sh: %s\n' "$1" >&2
    done=no
}

if [ $action = uninstall ]; then
    [ -e "$root$list" ] || fail "nothing is installed in $prefix: there is no $list"
    if [ -z "$root" ] && [ $mine = yes ]; then
        # What "notifyctl setup" has written: lines in files of the user, units, files for browsers.
        if [ -x "$prefix/bin/notifyctl" ]; then
            "$prefix/bin/notifyctl" setup --remove || still 'not all that notifyctl setup has written was taken back; see above'
        fi
        # Another notifyd may have units of the same names.
        for unit in notifyd notifyd-desktop notifyd-focus notifyd-mqtt notifyd-ntfy notifyd-unifiedpush; do
            case $(systemctl --user show --property=ExecStart --value "$unit" 2> /dev/null || true) in
                *"path=$prefix/bin/$unit "*) manager disable --now "$unit" || still "$unit.service cannot be stopped and disabled" ;;
            esac
            # Without a service manager the links are still there.
            for link in "${XDG_CONFIG_HOME:-$home/.config}"/systemd/user/*.wants/"$unit.service"; do
                case $(readlink "$link" || true) in "$prefix"/*) rm -f "$link" || still "$link is left" ;; esac
            done
        done
    fi
    if [ -z "$root" ]; then
        for process in /proc/[0-9]*; do
            program=$(readlink "$process/exe" 2> /dev/null || true)
            case $program in
                "$prefix"/bin/notifyd*) still "${program##*/} still runs; end it: kill ${process#/proc/}" ;;
            esac
        done
    fi
    remove
    left=$(LC_ALL=C grep -v '/$' "$root$list" | while read -r path; do
        [ "$path" = "$list" ] || [ ! -e "$root$path" ] || printf ' %s' "$path"
    done)
    [ -z "$left" ] || fail "this cannot be removed; mend what is said above, and try again:$left"
    folders=$(LC_ALL=C sort -r "$root$list" | LC_ALL=C grep '/$' || true)
    rm -f "$root$list" "$root$list.new"
    # The files in them are gone by now. One that has something else in it stays.
    printf '%s\n' "$folders" | while read -r path; do [ -z "$path" ] || rmdir "$root$path" 2> /dev/null || true; done
    manager daemon-reload || true
    kept=''
    for folder in "${XDG_STATE_HOME:-$home/.local/state}/notifyd" "${XDG_CONFIG_HOME:-$home/.config}/notifyd"; do
        [ ! -e "$folder" ] || kept="$kept $folder"
    done
    if [ $done = no ]; then fail "the files in $prefix are removed, and what is said above is left"; fi
    echo "Removed from $prefix.${kept:+ Your events, settings and keys are still in$kept.}"
    exit
fi

[ -x "$tree/bin/notifyd" ] || fail "the folder 'tree' must be beside install.sh; unpack the whole archive"

# --- what the programs need

if [ -z "$root" ]; then
    lacking=$(for program in "$tree"/bin/*; do
        ldd "$program" 2>&1 | sed -n "s|^[[:space:]]*\([^ ]*\) => not found.*|\1 ${program##*/}|p
            s|.*version .\(GLIBC[A-Z]*_[0-9.]*\).* not found.*|\1 ${program##*/}|p"
    done | sort -u)
    for library in $(printf '%s\n' "$lacking" | cut -d' ' -f1 | sort -u); do
        programs=$(printf '%s\n' "$lacking" | sed -n "s|^$library ||p" | tr '\n' ' ' | sed 's/ $//; s/ /, /g')
        case $library in
            GLIBC*) echo "The C library of this system is too old: $programs needs ${library}. Debian 12 has it, and what came after." ;;
            *)
                echo "$library is missing, which $programs needs. Its package is called:"
                printf '%s\n' "$libraries" | grep "^$library " | while read -r _ debian fedora arch suse; do
                    printf '    %-20s on Debian and Ubuntu\n    %-20s on Fedora\n    %-20s on Arch\n    %-20s on openSUSE\n' \
                        "$debian" "$fedora" "$arch" "$suse"
                done
                ;;
        esac
    done >&2
    case " $(printf '%s\n' "$lacking" | cut -d' ' -f2 | tr '\n' ' ')" in
        *' notifyd '* | *' notifyctl '*) fail 'nothing was installed' 69 ;;
    esac
    "$tree/bin/notifyctl" --version > /dev/null || fail "the programs do not run on this machine, which is a $(uname -m)" 69
fi

# --- the files

new=$(mktemp)
trap 'rm -f "$new" "$new.files"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# note_folder FOLDER: lists those that have to be made.
note_folder() {
    [ -n "$1" ] && [ ! -d "$root$1" ] || return 0
    [ ! -e "$root$1" ] || fail "$root$1 must be a folder; it is a file: move it away" 73
    note_folder "${1%/*}"
    printf '%s/\n' "$1" >> "$new"
}
# Folders that an older version has made are still to be removed with this one.
[ ! -e "$root$list" ] || LC_ALL=C grep '/$' "$root$list" >> "$new" || true

# Where the kernel gives users no namespaces, units that want them do not start. notifyctl doctor says which sandbox is left.
namespaces=yes
if [ -z "$root" ]; then
    for setting in kernel/apparmor_restrict_unprivileged_userns=1 kernel/unprivileged_userns_clone=0 user/max_user_namespaces=0; do
        [ "$(cat "/proc/sys/${setting%=*}" 2> /dev/null)" != "${setting#*=}" ] || namespaces=no
    done
fi

# place FILE: where it goes; nothing if it is not for here.
place() {
    case $1 in
        lib/systemd/catalog/*) [ $mine = no ] || return 0 ;;
        */namespaces.conf) [ $namespaces = yes ] || return 0 ;;
    esac
    case $mine$1 in
        yeslib/systemd/user/*) printf '%s\n' "$prefix/share/${1#lib/}" ;;
        *) printf '%s\n' "$prefix/$1" ;;
    esac
}
put() {
    mkdir -p "$root${2%/*}"
    # A program that runs cannot be written, but another can take its place.
    case $1 in
        lib/systemd/user/* | share/dbus-1/services/*)
            sed -e "s|/usr/bin/notifyd|$prefix/bin/notifyd|" -e "s|/usr/share/doc/notifyd|$prefix/share/doc/notifyd|" \
                "$tree/$1" > "$root$2.new"
            ;;
        *) cp "$tree/$1" "$root$2.new" ;;
    esac
    if [ -x "$tree/$1" ]; then chmod 755 "$root$2.new"; else chmod 644 "$root$2.new"; fi
    mv -f "$root$2.new" "$root$2"
}
umask 022
(cd "$tree" && find . -type f) | sed 's|^\./||' | sort | while read -r file; do
    to=$(place "$file")
    [ -z "$to" ] || printf '%s %s\n' "$to" "$file"
done > "$new.files"
while read -r to file; do
    note_folder "${to%/*}"
    [ ! -d "$root$to" ] || fail "$root$to must be a file; it is a folder: move it away" 73
    printf '%s\n' "$to" >> "$new"
done < "$new.files"
note_folder "${list%/*}"
printf '%s\n' "${list%/*}/install.sh" "$list" >> "$new"
if [ -z "$root" ]; then
    # Before the first file, so that what an interruption leaves can be removed; with what an older version has installed.
    mkdir -p "${list%/*}"
    { cat "$new" && if [ -e "$list" ]; then cat "$list"; fi; } | LC_ALL=C sort -u > "$list.new"
    mv -f "$list.new" "$list"
    # shellcheck disable=SC2154 # it is assigned in the trap
    trap 'status=$?; rm -f "$new" "$new.files"; [ $status = 0 ] || printf "install.sh: %s\n" \
        "it was not installed as a whole; run it again, or remove it: sh \"$here/install.sh\" --prefix $prefix --uninstall" >&2' EXIT
fi
while read -r to file; do put "$file" "$to"; done < "$new.files"
[ -z "$root" ] || exit 0
# This script can remove all of it, also when the archive is gone.
if [ "$here" != "${list%/*}" ]; then cp "$here/install.sh" "${list%/*}/install.sh"; fi
# What an older version had installed and this one has not.
remove "$new"
LC_ALL=C sort -u "$new" > "$list.new"
chmod 644 "$list.new"
mv -f "$list.new" "$list"

# --- what comes next

echo "Installed in $prefix. To remove it: sh ${list%/*}/install.sh --prefix $prefix --uninstall"
[ $namespaces = yes ] || echo "This system gives users no namespaces, so the units do without them; the rest of their sandbox stays."
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "Put its programs into your PATH: export PATH=$prefix/bin:\$PATH" ;;
esac
if manager daemon-reload; then
    # The bus does not watch a folder that is new.
    manager reload dbus || true
    echo "Start it: systemctl --user enable --now notifyd && $prefix/bin/notifyctl setup"
    echo "After an update: systemctl --user try-restart 'notifyd*'"
else
    echo 'Start it, in your session: systemctl --user daemon-reload && systemctl --user enable --now notifyd'
    echo "Then: $prefix/bin/notifyctl setup"
fi
echo 'setup asks what to turn on, such as the line for your PATH. notifyctl doctor checks that everything works.'

#!/bin/bash
# The third part of sandbox.sh, run as the user, in a session that ends with this script.
#
# Each line of the unit is tried three times: without it the probe succeeds, with it alone the probe is refused, and
# with the whole unit it is refused too. A line of which no probe is known is a failure, and so is a probe of a line
# that the unit has no longer.

source "$(dirname "$0")/rig.bash"
T=$(mktemp -d "$HOME/session.XXXXXX")
trap 'rig_end "$BASH_COMMAND"' EXIT
cd "$HOME"
UNITS=$HOME/.local/share/systemd/user

# Line | probe | what it needs beside it | reason. A probe in parentheses: not on every system has the line an effect; in
# brackets: not everywhere can anybody try what it forbids.
#
# What only works inside of a user namespace needs that. Two lines prevent what other lines would do: that a forbidden
# call ends the program, and that the journal cannot be written.
LINES='
MemoryMax=384M | (memory) | | a user manager that was not given the controller "memory" ignores it
TasksMax=64 | (processes) | | a user manager that was not given the controller "pids" ignores it
LimitNOFILE=4096 | descriptors |
UMask=0077 | files-for-all |
LimitCORE=0 | core-file |
KeyringMode=private | [session-keys] | | keyrings are not to be had
NoNewPrivileges=yes | rights-of-a-program |
RestrictSUIDSGID=yes | set-user-id |
RestrictNamespaces=yes | namespaces |
MemoryDenyWriteExecute=yes | writable-code |
LockPersonality=yes | personality |
RestrictAddressFamilies=AF_UNIX | internet |
SystemCallArchitectures=native | [foreign-calls] | | this kernel has no calls but those of its own architecture
SystemCallFilter=@system-service | tracing |
SystemCallFilter=~@privileged @resources | owners-and-processors |
SystemCallErrorNumber=EPERM | end-by-a-call | SystemCallFilter=@system-service
RestrictRealtime=yes | real-time |
PrivateUsers=yes | other-users |
CapabilityBoundingSet= | capabilities | PrivateUsers=yes
ProtectSystem=strict | files-of-the-system | PrivateUsers=yes
ReadOnlyPaths=/run | files-of-other-services | PrivateUsers=yes
ProtectHome=read-only | files-at-home | PrivateUsers=yes
ReadWritePaths=-%h/.local/state/notifyd | loss-of-the-journal | PrivateUsers=yes ProtectHome=read-only
PrivateTmp=yes | temporary-files | PrivateUsers=yes
PrivateDevices=yes | [devices] | PrivateUsers=yes | there are only pseudo devices anyway
DevicePolicy=closed | (device-files) | PrivateUsers=yes | a user manager has no rights to control devices
PrivateIPC=yes | shared-memory | PrivateUsers=yes PrivateDevices=yes
PrivateNetwork=yes | connection | PrivateUsers=yes
ProtectProc=invisible | (processes-of-others) | PrivateUsers=yes | systemd 252 gives the services of a user no /proc of their own
ProcSubset=pid | (system-information) | PrivateUsers=yes | systemd 252 gives the services of a user no /proc of their own
ProtectHostname=yes | host-name | PrivateUsers=yes
ProtectClock=yes | clock | PrivateUsers=yes
ProtectControlGroups=yes | control-groups | PrivateUsers=yes
ProtectKernelLogs=yes | [kernel-log] | PrivateUsers=yes | there is no /dev/kmsg that users may read
ProtectKernelModules=yes | kernel-modules | PrivateUsers=yes
ProtectKernelTunables=yes | kernel-settings | PrivateUsers=yes
'
# These say how notifyd is run, which systemd-user-session.sh has the facts of.
NO_RESTRICTIONS='Type|NotifyAccess|BusName|Exec[A-Za-z]*|WatchdogSec|Restart[A-Za-z]*|TimeoutStopSec|Slice|Environment'

background "$T/manager.log" /lib/systemd/systemd --user --log-target=console
eventually_quiet "$PATIENCE" test -S "$XDG_RUNTIME_DIR/systemd/private" || fail "the user manager does not start"

# --- the table and the unit know the same lines

sed -n '/^\[Service\]/,/^\[Install\]/ s/^[A-Z][A-Za-z]*=.*/&/p' "$UNITS/notifyd.service" \
    "$UNITS/notifyd.service.d/namespaces.conf" | grep -E -v "^($NO_RESTRICTIONS)=" | sort > "$T/restrictions"
sed -n 's/ *|.*//p' <<< "$LINES" | sort > "$T/table"
diff "$T/table" "$T/restrictions" > "$T/difference.log" || fail "the lines with a probe (<) are not those of the unit (>)"
ok "every line of the unit that restricts has a probe"

# --- the world outside

cp "$RIGS/sandbox-probe.py" "$T/probe.py" # the unit need not be able to see where it comes from
mkdir -p "$HOME/.local/state/notifyd"
: > "$T/environment"
outside() { printf 'OUTSIDE_%s=%s\n' "$1" "$2" >> "$T/environment"; }
outside USER "$(readlink /proc/self/ns/user)"
outside UTS "$(readlink /proc/self/ns/uts)"
outside TEMPORARY "$(stat --format=%d:%i /tmp)"
ipcmk --shmem 4096 --mode 0600 > /dev/null
outside SHARED_MEMORY "$(ipcs --shmems | awk '$1 ~ /^0x/ { print $1 }')"
background "$T/port" /usr/bin/python3 -u -c 'if True:
    import socket
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1])
    while True: listener.accept()[0].close()'
eventually_quiet "$PATIENCE" test -s "$T/port" || fail "nobody listens"
outside PORT "$(cat "$T/port")"

# run PROPERTY … -- PROBE …: the probes in a unit of their own with these properties.
run() {
    local properties=()
    while [ "$1" != -- ]; do
        properties+=("--property=${1//%h/$HOME}")
        shift
    done
    systemd-run --user --quiet --wait --pipe --collect --property=EnvironmentFile="$T/environment" \
        "${properties[@]}" /usr/bin/python3 "$T/probe.py" "${@:2}" 2>&1
}
outside KEYRING unknown
keyring=$(run -- session-keys | sed 's/.* //')
sed -i "s/^OUTSIDE_KEYRING=.*/OUTSIDE_KEYRING=$keyring/" "$T/environment"

run PrivateUsers=yes -- other-users > "$T/namespaces.log" || true
grep -q '^other-users refused' "$T/namespaces.log" ||
    skip "users may have no user namespaces here: $(cat "$T/namespaces.log")"

# each FUNCTION: calls it with line, probe and companions of every row of the table, the reason and the kind of bracket.
each() {
    local line probe companions reason name
    while IFS='|' read -r line probe companions reason; do
        line=${line% } companions=${companions# } reason=${reason# }
        read -r probe <<< "$probe"
        name=${probe//[]()[]/}
        [ -z "$name" ] || "$1" "$line" "$name" "${companions% }" "$reason" "${probe%"$name"*}"
    done <<< "$LINES"
}

# --- without any of the lines, and with each of them alone

declare -A WITHOUT=() # what is to be tried beside the same companions
collect() { WITHOUT[$3 ]+=" $2"; }
each collect
for beside in "${!WITHOUT[@]}"; do
    read -r -a companions <<< "$beside"
    read -r -a probes <<< "${WITHOUT[$beside]}"
    run "${companions[@]}" -- "${probes[@]}" >> "$T/without"
done

ALONE=()
try_alone() {
    local companions
    read -r -a companions <<< "$3"
    run "${companions[@]}" "$1" -- "$2" > "$T/alone.$2" &
    ALONE+=($!)
    # A few at a time: the one that began some before this has ended.
    [ ${#ALONE[@]} -lt 6 ] || wait "${ALONE[-6]}" || true
}
each try_alone
wait "${ALONE[@]}"

# --- all of them

# The unit itself with all that belongs to it, but the probes in the place of notifyd.
all_probes() { each print_probe | paste -s -d ' '; }
print_probe() { printf '%s\n' "$2"; }
mkdir -p "$HOME/.config/systemd/user"
cp "$UNITS/notifyd.service" "$HOME/.config/systemd/user/probe.service"
cp -r "$UNITS/notifyd.service.d" "$HOME/.config/systemd/user/probe.service.d"
cat > "$HOME/.config/systemd/user/probe.service.d/probes.conf" <<UNIT
[Unit]
Requires=
[Service]
Type=oneshot
BusName=
Restart=no
WatchdogSec=0
ExecStart=
ExecStart=/usr/bin/python3 $T/probe.py $(all_probes)
EnvironmentFile=$T/environment
StandardOutput=truncate:$T/together
StandardError=truncate:$T/together.log
UNIT
systemctl --user daemon-reload
systemctl --user start probe.service || fail "the unit does not run the probes"

# found PROBE FILE: what came of it there.
found() { sed -n "s/^$1 //p" "$2"; }

# judge LINE PROBE COMPANIONS REASON BRACKET
judge() {
    local without alone together
    without=$(found "$2" "$T/without") alone=$(found "$2" "$T/alone.$2") together=$(found "$2" "$T/together")
    case "$5 $without / $alone / $together" in
        *" allowed / refused: "*" / refused: "*) ok "$1 (${alone#*: })" ;;
        "( allowed / allowed / "*) say "    $1 has no effect here: $4" ;;
        "[ refused: "*) say "    $1 cannot be tried here: $4" ;;
        *) fail "$1: without it \"$without\", with it alone \"$alone\", in the unit \"$together\"" ;;
    esac
}
each judge

# --- the score

# exposure UNIT: as systemd-analyze sees the unit that is loaded, in tenths; 100 means no protection.
exposure() {
    systemd-analyze --user security --no-pager "$1" | sed -n 's/.*level for .*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p'
}
# at_most EXPOSURE FACT
at_most() {
    local exposure
    exposure=$(exposure notifyd.service)
    [ "$((10#$exposure))" -le "$1" ] || fail "the exposure level is $exposure tenths, and should be at most $1: $2"
    ok "systemd-analyze gives an exposure level of $((10#$exposure / 10)).$((10#$exposure % 10)) $2"
}
at_most 10 "to the unit as it is installed"

# --- where there are no user namespaces, the rest is left

# As the drop-in itself says it.
mkdir -p "$HOME/.config/systemd/user/notifyd.service.d"
ln -s /dev/null "$HOME/.config/systemd/user/notifyd.service.d/namespaces.conf"
rm "$HOME/.config/systemd/user/probe.service.d/namespaces.conf"
systemctl --user daemon-reload
at_most 60 "without its namespaces"
systemctl --user start probe.service || fail "the unit does not run the probes without namespaces"
judge_rest() {
    grep -q -x -F -- "$1" "$UNITS/notifyd.service" || return 0
    case $(found "$2" "$T/together") in
        "refused: "*) ;;
        *) [ -n "$5" ] || fail "$1 forbids nothing where there are no namespaces" ;;
    esac
}
each judge_rest
ok "without namespaces every other line holds"
equal "and nothing is in a user namespace" "allowed" "$(found other-users "$T/together")"

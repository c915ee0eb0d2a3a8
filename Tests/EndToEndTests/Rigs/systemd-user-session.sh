#!/bin/bash
# The third part of systemd-user.sh, run as the user, in a session that ends with this script.

source "$(dirname "$0")/rig.bash"
RECORDS=$1/records
BUS=$2
CGROUP=$3
T=$(mktemp -d "$HOME/session.XXXXXX")
trap 'rig_end "$BASH_COMMAND"' EXIT
ln -s "$RECORDS" "$T/journal.log"
cd "$HOME"

unit() { systemctl --user show --value --property="$1" notifyd.service; }
unit_is() { [ "$(unit "$1")" = "$2" ]; }
configure() { cat > "$HOME/.config/notifyd/config.toml"; }

# records FILTER: the journal records of notifyd that pass jq's filter, one a line.
records() { jq -c "select(.SYSLOG_IDENTIFIER == \"notifyd\") | select($1)" "$RECORDS"; }
recorded() { [ -n "$(records "$1")" ]; }

# processes NAME: the ids of all processes of that name; the namespace holds none of anybody else.
processes() { grep -l -x -- "$1" /proc/[0-9]*/comm 2> /dev/null | cut -d / -f 3; }

owner_process() {
    busctl --user --json=short call org.freedesktop.DBus / org.freedesktop.DBus GetConnectionUnixProcessID s "$1" |
        jq -r '.data[0]'
}

# --- a session: a manager and a bus

mkdir -p "$HOME/.config/systemd/user" "$HOME/.config/notifyd"
# By name, or the alias of an installed dbus-broker would decide which bus this is.
if [ "$BUS" = dbus-broker ]; then
    cp /usr/lib/systemd/user/dbus-broker.service "$HOME/.config/systemd/user/dbus.service"
else
    cp /usr/lib/systemd/user/dbus.service "$HOME/.config/systemd/user/dbus.service"
fi
# shellcheck disable=SC2016 # the dollars are the inner shell's
background "$T/manager.log" bash -c \
    'for own in "$@"; do [ ! -d "$own" ] || echo $$ > "$own/cgroup.procs"; done
     exec /lib/systemd/systemd --user --log-target=console' \
    manager /sys/fs/cgroup{,/*}/"$CGROUP/user@$(id -u).service"
MANAGER=$!
eventually_quiet "$PATIENCE" test -S "$XDG_RUNTIME_DIR/systemd/private" || fail "the user manager does not start"
systemctl --user start dbus.socket || fail "the bus of the session does not start"
start_mock server
record_signals
# Records of single events are of the level debug; at the default level the journal gets what happens to notifyd.
configure <<'TOML'
[defaults]
window = "1s"
[log]
level = "debug"
TOML

# --- started by the first call

equal "notifyd is installed and not running" inactive "$(unit ActiveState)"
begun=$(milliseconds)
id=$(send /post/27 'A confidential title' 'A confidential body') || fail "no call starts notifyd"
took=$(($(milliseconds) - begun))
ok "a call of Send starts it ($took ms with the answer) and gives an id"
equal "systemd has started it, not the bus" active "$(systemctl --user is-active notifyd)"
equal "the name belongs to the unit's process" "$(unit MainPID)" "$(owner_process $ROUTER)"
[ -n "$(unit StatusText)" ] || fail "notifyd tells systemd no status"
systemctl --user status --no-pager notifyd > "$T/status.txt" 2>&1 || fail "systemctl status fails"
grep -q "Status: \"$(unit StatusText)\"" "$T/status.txt" || fail "systemctl status shows no status text"
ok "systemctl status says: $(unit StatusText)"
eventually "the event that started it is shown" outcome_is "$id" shown
claimed=$(send /run/r1/mate/영희/finished 'A confidential title' 'A confidential body')
equal "and another is claimed" suppressed "$(call Claim t "$claimed")"
eventually "which is resolved" outcome_is "$claimed" claimed

# --- in its sandbox

process=$(unit MainPID)
[ "$(readlink "/proc/$process/ns/user")" != "$(readlink /proc/self/ns/user)" ] || fail "notifyd is in no sandbox"
ok "notifyd is in a user namespace of its own"
equal "and may write its journal all the same" '' "$(property Degraded)"
equal "which tells the history" "$id" "$(call History stu /post/27 "$((id - 1))" 1 | jq '.[0][0]')"
threads=$(sed -n 's/^Threads:[[:space:]]*//p' "/proc/$process/status")
[ "$threads" -le 16 ] || fail "notifyd has $threads threads, and may have 64"
ok "it has $threads of the 64 threads it may have"

mkdir -p "$HOME/share/notifyd/config.d"
printf '[[route]]\ntopic = "/packaged/{id}"\nbanner = false\n' > "$HOME/share/notifyd/config.d/org.example.App.toml"
systemctl --user set-environment XDG_DATA_DIRS="$HOME/share:/usr/local/share:/usr/share"
systemctl --user restart notifyd
packaged=$(send /packaged/1 'A confidential title' '')
equal "it reads the routes that packages bring" silent "$(call Explain t "$packaged" | jq -r .outcome.data)"
systemctl --user unset-environment XDG_DATA_DIRS

# --- a large journal is looked at by a second process, which is in the sandbox too

configure <<'TOML'
[defaults]
window = "200ms"
[log]
level = "debug"
[[route]]
topic = "/bulk/{number}"
banner = false
TOML
systemctl --user restart notifyd
/usr/bin/python3 "$RIGS/round-trips.py" 1200 /bulk 8000 > /dev/null || fail "1,200 pushes are not accepted"
systemctl --user restart notifyd
all_is_counted() { [ "$(property Statistics | jq '.["stored-events"]')" -ge 1200 ]; }
eventually "a journal of 10 MB is looked at beside the daemon" all_is_counted
! recorded '.MESSAGE_ID == "44b044a62b60498ca5049985cb27fd10"' || fail "the large journal could not be looked at"

# --- what the doctor says

# doctor [FILTER]: its report, or what jq's filter makes of it.
doctor() { "$HOME/.local/bin/notifyctl" doctor --json=short | jq -r "${1:-.}" || true; }
# state CHECK, advice CHECK
state() { doctor ".findings[] | select(.check == \"$1\").state"; }
advice() { doctor ".findings[] | select(.check == \"$1\").advice // empty"; }

"$HOME/.local/bin/notifyctl" doctor > "$T/doctor.log" || fail "the doctor finds something"
ok "the doctor finds everything well"
equal "and the sandbox complete" "complete: namespaces, system calls, no new privileges" "$(state sandbox)"

drop_in() { mkdir -p "$HOME/.config/systemd/user/notifyd.service.d" && cat > "$HOME/.config/systemd/user/notifyd.service.d/$1.conf"; }
drop_in weaker <<< '[Service]
PrivateNetwork=no
SystemCallFilter=chroot
UMask=0022'
systemctl --user daemon-reload
systemctl --user restart notifyd
equal "what a drop-in has loosened is named" "weaker than that of notifyd.service: SystemCallFilter, UMask, PrivateNetwork" \
    "$(state sandbox)"
# No such file: 243/CREDENTIALS.
drop_in weaker <<< '[Service]
LoadCredential=secret:/nowhere/secret'
systemctl --user daemon-reload
systemctl --user restart notifyd 2> /dev/null || true
credential_is_named() { [[ $(advice unit) == *"it is /nowhere/secret. Then:"* ]]; }
eventually "a credential file that is missing is named" credential_is_named
rm "$HOME/.config/systemd/user/notifyd.service.d/weaker.conf"
systemctl --user daemon-reload
systemctl --user reset-failed notifyd
systemctl --user restart notifyd

mkdir "$T/elsewhere"
drop_in state <<< "[Service]
Environment=XDG_STATE_HOME=$T/elsewhere"
systemctl --user daemon-reload
systemctl --user restart notifyd
case $(advice journal) in
    *"ReadWritePaths=-$T/elsewhere/notifyd") ok "it says how to let the journal be elsewhere" ;;
    *) fail "of a journal elsewhere it says: $(advice journal)" ;;
esac
mkdir "$T/elsewhere/notifyd"
drop_in writable <<< "[Service]
ReadWritePaths=-$T/elsewhere/notifyd"
systemctl --user daemon-reload
systemctl --user restart notifyd
equal "and that is right" '' "$(property Degraded)"
rm -r "$HOME/.config/systemd/user/notifyd.service.d"
systemctl --user daemon-reload

systemctl --user stop notifyd
mv "$HOME/.local/state/notifyd" "$T/state"
: > "$HOME/.local/state/notifyd"
systemctl --user start notifyd || fail "notifyd does not start where the folder of its journal cannot be made"
[ -n "$(property Degraded)" ] || fail "notifyd does not say that the folder of its journal cannot be made"
ok "it starts where the folder of its journal cannot be made, and says so"
systemctl --user stop notifyd
mv -T -f "$HOME/.local/state/notifyd" "$T/no-folder"
mv "$T/state" "$HOME/.local/state/notifyd"

# The sandbox has the deleted folder mounted, and cannot have another one in its place.
systemctl --user start notifyd || fail "notifyd does not start when the folder of its journal is back"
equal "when the folder is back, it can write again" '' "$(property Degraded)"
rm -r "$HOME/.local/state/notifyd"
! send /bulk/1 Lost '' > "$T/answer" 2>&1 || fail "notifyd accepts an event though its state directory is deleted"
ok "its state directory is deleted while it runs, and it accepts no event"
is_read_only() { [[ $(property Degraded) == *"mounted read-only"* ]]; }
eventually "when it has tried to make a new one, it says that the folder above is mounted read-only" is_read_only
systemctl --user restart notifyd || fail "notifyd does not start after its state directory was deleted"
equal "a restart creates it again" 700 "$(stat --format=%a "$HOME/.local/state/notifyd")"
equal "and notifyd can write" '' "$(property Degraded)"
kept=$(send /bulk/1 Kept '') || fail "it accepts no event after the restart"
equal "the next event is in the history, which is new" "$kept" "$(call History stu / 0 10 | jq -r '.[][0]')"

# Namespaces that cannot be had fail like this.
drop_in namespaces <<< '[Service]
PrivateUsers=yes
BindPaths=/nowhere'
systemctl --user daemon-reload
! systemctl --user restart notifyd 2> /dev/null || fail "a unit starts without its namespaces"
equal "a unit without its namespaces fails at once" failed "$(unit ActiveState)"
case $(state unit) in
    *"failed with 226"*) ok "the doctor says that namespaces are missing" ;;
    *) fail "of a unit without its namespaces the doctor says: $(state unit)" ;;
esac
remedy=$(advice unit)
rm -r "$HOME/.config/systemd/user/notifyd.service.d"
bash -c "${remedy#*: }" || fail "what the doctor advises cannot be done: $remedy"
equal "with what it advises, notifyd runs" active "$(unit ActiveState)"
equal "in the sandbox that is left" "system calls and no new privileges; namespaces.conf is left out" "$(state sandbox)"
rm -r "$HOME/.config/systemd/user/notifyd.service.d"
systemctl --user daemon-reload
systemctl --user restart notifyd

# --- the command of a button runs outside of it

configure <<'TOML'
[defaults]
window = "210ms"
[[route]]
topic = "/button/{id}"
resident = true
[[route.actions]]
key = "go"
label = "Go"
exec = ["sh", "-c", "cat /proc/self/cgroup > ~/pressed; command -v notifyctl >> ~/pressed; printf '%s\\n' \"${NOTIFYD_TITLE}\" \"$NOTIFYD_BODY\" >> ~/pressed; until [ -e ~/end ]; do sleep 0.05; done"]
[log]
level = "debug"
TOML
rm -f "$HOME/end" "$HOME/pressed"
systemctl --user reload notifyd
eventually "a configuration with a button is in force" property_is DefaultWindowMilliseconds 210
# The text would be a command, if anybody but the shell read the variable.
button=$(send /button/1 '"; touch ~/fooled; "' $'A confidential body\nof 100 %h and $HOME')
eventually "a banner with a button is shown" outcome_is "$button" shown
press() { mock EmitSignal sssav $SERVER ActionInvoked us 2 u "$1" s go > /dev/null; }
banner=$(jq "select(.member == \"Resolved\" and .payload.data[1] == $button) | .payload.data[3].banner.data" "$T/signals")
press "$banner"
eventually "its command can write where notifyd cannot" test -s "$HOME/pressed"
grep -q notifyd-button-1.service "$HOME/pressed" || fail "the command is not a unit: $(cat "$HOME/pressed")"
ok "it is a unit of its own"
eventually "it finds notifyctl, whose folder is not in the PATH of the manager" \
    grep -q -x "$HOME/.local/bin/notifyctl" "$HOME/pressed"
eventually "the text of the event reaches it as it is" grep -q -x -F '"; touch ~/fooled; "' "$HOME/pressed"
grep -q -x -F 'of 100 %h and $HOME' "$HOME/pressed" || fail "the body is not as it was sent: $(cat "$HOME/pressed")"
[ ! -e "$HOME/fooled" ] || fail "the text of an event was run"
press "$banner"
eventually "pressed again while it runs, it runs twice" systemctl --user --quiet is-active notifyd-button-2.service
: > "$HOME/end"
gone_units() { [ -z "$(systemctl --user list-units --plain --no-legend 'notifyd-button-*')" ]; }
eventually "nothing is left of the commands when they have ended" gone_units

# --- what the journal gets

of_event() { recorded ".NOTIFYD_EVENT_ID == \"$1\" and .NOTIFYD_TOPIC == \"$2\""; }
eventually "the journal has a record of the first event with id and topic" of_event "$id" /post/27
eventually "and one of the second, whose topic is Korean" of_event "$claimed" /run/r1/mate/영희/finished
complete='.MESSAGE and .PRIORITY and (.MESSAGE_ID // "" | test("^[0-9a-f]{32}$"))'
equal "every record of an event has MESSAGE, PRIORITY and MESSAGE_ID" '' \
    "$(records ".NOTIFYD_EVENT_ID and ($complete | not)")"
equal "no record of any kind has a title or a body in it" 0 "$(grep -c confidential "$RECORDS" || true)"

# --- the timer of the examples

cp "$RIGS"/../../../examples/systemd/stretch.* "$HOME/.config/systemd/user/"
mkdir -p "$HOME/.config/systemd/user/stretch.timer.d"
printf '[Timer]\nOnActiveSec=0\nAccuracySec=1us\n' > "$HOME/.config/systemd/user/stretch.timer.d/now.conf"
systemctl --user set-environment "PATH=$HOME/.local/bin:$PATH"
systemctl --user daemon-reload
systemctl --user start stretch.timer || fail "the timer cannot be started"
stretched() { [ "$(call History stu /reminder/stretch 0 10 | jq length)" -ge 1 ]; }
eventually "the timer of the examples sends its push" stretched
equal "and its service has done well" success "$(systemctl --user show --value --property=Result stretch.service)"
systemctl --user stop stretch.timer

# --- the report of a failure of the examples

cp "$RIGS"/../../../examples/systemd/report-failure@.service "$HOME/.config/systemd/user/"
printf '[Unit]\nOnFailure=report-failure@%%n.service\n[Service]\nExecStart=/bin/sh -c "exit 3"\n' \
    > "$HOME/.config/systemd/user/backup.service"
systemctl --user daemon-reload
systemctl --user start --wait backup.service && fail "a service that exits with 3 does not fail"
reported() { [ "$(call History stu /unit/backup.service 0 10 | jq length)" -ge 1 ]; }
eventually "a service that fails is reported" reported
equal "with what has happened" 'exit-code, exited 3. journalctl --user -u backup.service' \
    "$(call History stu /unit/backup.service 0 10 | jq -r '.[0][3]')"
equal "once" 1 "$(call History stu /unit 0 10 | jq length)"
long=$(printf '%070d' 0 | tr 0 x)
cp "$HOME/.config/systemd/user/backup.service" "$HOME/.config/systemd/user/$long.service"
systemctl --user daemon-reload
systemctl --user start --wait "$long.service" && fail "a service that exits with 3 does not fail"
# Of what is not a service the manager says nothing but the name.
systemctl --user start report-failure@-.mount.service
unit_reported() { [ "$(call History stu /unit 0 10 | jq --arg title "$1 has failed" '[.[] | select(.[2] == $title)] | length')" = 1 ]; }
eventually "a unit with a name longer than a segment of a topic is reported" unit_reported "$long.service"
eventually "and one whose name begins with a dash" unit_reported -.mount

# --- reload

configure <<'TOML'
[defaults]
window = "250ms"
TOML
process=$(unit MainPID)
systemctl --user reload notifyd || fail "systemctl reload fails"
eventually "reload applies a changed configuration" property_is DefaultWindowMilliseconds 250
configure <<'TOML'
[defaults]
windw = "300ms"
TOML
! systemctl --user reload notifyd 2> /dev/null || fail "systemctl reload succeeds with a bad configuration"
eventually "a bad configuration is reported with its line" recorded \
    '(.PRIORITY | tonumber) <= 4 and ([.[]] | join(" ") | test("windw") and test("\\b2\\b"))'
eventually "notifyd is running all the same" unit_is ActiveState active
equal "in the same process" "$process" "$(unit MainPID)"
equal "with the configuration it had" 250 "$(property DefaultWindowMilliseconds)"
# The example with all its settings in force, not only as a text of comments.
sed 's/^#\([^ ]\)/\1/' "$HOME/.local/share/doc/notifyd/config.toml" | configure
systemctl --user reload notifyd || fail "systemctl reload fails after a bad configuration"
eventually "and takes the next one that is right, the installed example" property_is DefaultWindowMilliseconds 100

# --- who may do what

configure <<'TOML'
[defaults]
window = "250ms"
[log]
level = "debug"
[[policy]]
topic = "/feed"
allow = ["publish"]
unit = "feed.service"
[[policy]]
topic = "/feed"
deny = ["publish"]
[[policy]]
deny = ["claim"]
app = "org.example.Game"
TOML
systemctl --user reload notifyd || fail "systemctl reload fails with a policy"
eventually "reload applies a policy" property_is DefaultWindowMilliseconds 250

# as UNIT METHOD SIGNATURE ARGUMENT …: what a call answers that is made in a unit of this name, one line.
as() {
    local unit=$1 kind=()
    shift
    [ "${unit%.scope}" = "$unit" ] && kind=(--wait --pipe) || kind=(--scope)
    systemd-run --user --quiet --collect "${kind[@]}" --unit="$unit" \
        busctl --user --timeout=5 call $ROUTER $ROUTER_PATH $ROUTER "$@" 2>&1 | tr '\n' ' ' || true
}
says() { [[ $2 == *$1* ]] || fail "$3: it says \"$2\", and should say \"$1\""; ok "$3"; }

says 't 1' "$(as feed.service Send sss /feed/1 News '')" "the unit that the policy names publishes"
answer=$(as other.service Send sss /feed/1 News '')
says 'config.toml:9: deny publish at or below /feed' "$answer" "another does not, and hears which rule says so"
says 'unit other.service' "$answer" "and who it is taken for"
says 't 1' "$(as other.service Send sss /post/30 News '')" "elsewhere it publishes too"
flatpak='app-flatpak-org.example.Game-4711.scope'
says 'deny claim at or below / to app org.example.Game' "$(as $flatpak ClaimTopic su /post 0)" \
    "an app in a scope as Flatpak makes it does not claim"
says 'u 1' "$(as 'app-flatpak-org.example.Feed-4712.scope' ClaimTopic su /post/30 0)" "another app does"
# program_of ID: what people call the claimant of an event.
program_of() {
    busctl --user --timeout=5 --json=short call $ROUTER $ROUTER_PATH $ROUTER Explain t "$1" | jq -r '.data[0].program.data'
}
for unit in news.service app-gnome-org.example.News-17.scope vte-spawn-17.scope; do
    [ "${unit%.scope}" = "$unit" ] && kind=() || kind=(--scope)
    systemd-run --user --quiet --collect "${kind[@]}" --unit="$unit" "$HOME/.local/bin/notifyctl" screen "/unit/$unit" > /dev/null 2>&1 &
    has_screen() { call ListScreens | jq -e --arg topic "/unit/$unit" 'any(.[]; .[1] == $topic)' > /dev/null; }
    eventually "a screen opens in $unit" has_screen
    case $unit in app-*) name=org.example.News ;; *.service) name=$unit ;; *) name=notifyctl ;; esac
    equal "its program is $name" "$name" "$(program_of "$(send "/unit/$unit" News '')")"
    systemctl --user stop "$unit"
done

# --- whose notifications notifyd-desktop takes for which

printf '[[app]]\nunit = "chat"\ntopic = "/chat"\n' > "$HOME/.config/notifyd/desktop.toml"
systemctl --user start notifyd-desktop || fail "notifyd-desktop does not start"
observes() {
    [ "$(busctl --user --json=short get-property org.notifyd.Bridge.desktop /org/notifyd/Bridge1 org.notifyd.Bridge1 State | jq -r .data)" = connected ]
}
eventually "notifyd-desktop observes" observes
for unit in chat other; do
    systemd-run --user --quiet --collect --unit=$unit /usr/bin/python3 "$RIGS/gio-program.py" org.example.Chat$unit "Of $unit"
done
observed() { call History stu / 0 1000 | jq -r ".[] | select(.[2] == \"Of $1\") | .[1]"; }
observed_is() { [[ $(observed "$1") == $2 ]]; }
eventually "the unit of a program makes the topic of what it shows" observed_is chat /chat
eventually "and what another shows has that of the program" observed_is other '/app/*'
systemctl --user stop notifyd-desktop chat other
# Pictures of banners stay.
rm -r "$XDG_RUNTIME_DIR/notifyd-desktop" "$HOME/.config/notifyd/desktop.toml"

eventually "the journal says who the callers are" recorded '.NOTIFYD_CALLER // "" | test("unit feed.service")'

# --- set up, and taken back

printf 'export MINE=1' > "$HOME/.bashrc"
setup() { SHELL=/bin/bash "$HOME/.local/bin/notifyctl" setup "$@" > "$T/setup.log" 2>&1 || fail "notifyctl setup $* fails"; }
files() { (cd "$HOME" && find .bashrc .config ! -type d -printf '%p %M %l\n' && find .bashrc .config -type f -exec sha256sum {} +) | sort; }
units() { systemctl --user is-"$1" notifyd-focus notifyd-desktop | xargs; }
was=$(files)
env -u DBUS_SESSION_BUS_ADDRESS -u XDG_RUNTIME_DIR SHELL=/bin/bash \
    "$HOME/.local/bin/notifyctl" setup path shell focus desktop --yes > "$T/setup.log" 2>&1 || fail "notifyctl setup fails"
equal "setup enables units, also without an environment" "enabled enabled" "$(units enabled)"
equal "and starts them" "active active" "$(units active)"
equal "what the service manager starts finds notifyctl" "$HOME/.local/bin/notifyctl" \
    "$(systemd-run --user --quiet --collect --pipe --wait sh -c 'command -v notifyctl')"
equal "and so do shells, which have the hook" "$HOME/.local/bin/notifyctl /shell/$(uname -n)" \
    "$(bash -lic 'printf "%s %s" "$(type -P notifyctl)" "${NOTIFYD_SHELL_TOPIC%/*}"' 2> /dev/null)"
on=$(files)
setup path shell focus desktop --yes
equal "the second time nothing changes" "$on" "$(files)"
status=0
DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent "$HOME/.local/bin/notifyctl" setup --remove --purge --yes \
    > "$T/setup.log" 2>&1 || status=$?
equal "without a bus nothing is deleted under what runs" "77 $on" "$status $(files)"
[ -e "$HOME/.local/state/notifyd/index.db" ] || fail "the journal of a notifyd that runs is gone"
status=0
DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent "$HOME/.local/bin/notifyctl" setup --remove focus desktop \
    > "$T/setup.log" 2>&1 || status=$?
equal "nor is a unit passed over in silence" "77 enabled enabled" "$status $(units enabled)"
cp "$HOME/.local/bin/notifyd-desktop" "$T/notifyd-desktop"
mv "$T/notifyd-desktop" "$HOME/.local/bin/notifyd-desktop"
equal "the doctor names a program that was replaced" notifyd-desktop \
    "$(doctor '.findings[] | select(.state | contains("was replaced")) | .check')"
setup --remove focus
systemctl --user mask notifyd-focus 2> /dev/null
status=0
SHELL=/bin/bash "$HOME/.local/bin/notifyctl" setup focus --yes > "$T/setup.log" 2>&1 || status=$?
equal "a unit that is masked is said to be" "77 notifyctl: focus cannot be turned on: notifyd-focus.service is masked; \
allow it again: systemctl --user unmask notifyd-focus.service." "$status $(cat "$T/setup.log")"
systemctl --user unmask notifyd-focus 2> /dev/null
"$HOME/.local/bin/notifyctl" setup < /dev/null > "$T/setup.log" 2>&1 || true
! grep -q ' link' "$T/setup.log" || fail "setup offers a link that there is not"
setup --remove
equal "taken back, no file has changed" "$was" "$(files)"
equal "no unit is enabled" "disabled disabled" "$(units enabled || true)"
equal "nor runs" "inactive inactive" "$(units active || true)"
rm -r "$XDG_RUNTIME_DIR/notifyd-desktop"

# --- killed

before=$(owner $ROUTER)
kill -KILL "$process"
new_owner() {
    local now
    now=$(owner $ROUTER)
    [ -n "$now" ] && [ "$now" != "$before" ]
}
eventually "killed, it is back and owns its name" new_owner
equal "it was restarted by systemd" 1 "$(unit NRestarts)"
[ "$(unit MainPID)" != "$process" ] || fail "the process is the one that was killed"
id=$(send /post/28 'After' 'the kill')
eventually "and it works" outcome_is "$id" shown

# --- stopped

begun=$(milliseconds)
systemctl --user stop notifyd || fail "systemctl stop fails"
took=$(($(milliseconds) - begun))
[ $took -lt 1000 ] || fail "stopping took $took ms, and should take less than 1000 ms"
ok "it stops within a second ($took ms)"
equal "as a success" success "$(unit Result)"
equal "it leaves no process" '' "$(processes notifyd)"
equal "it leaves no name on the bus" '' "$(owner $ROUTER)"
equal "it leaves nothing in the runtime directory" '' \
    "$(find "$XDG_RUNTIME_DIR" -name '*notifyd*' ! -path '*/systemd/generator*' 2> /dev/null || true)"

# --- started by the session, watched by the watchdog

systemctl --user enable --quiet notifyd || fail "systemctl enable fails"
equal "it can be enabled for every session" enabled "$(systemctl --user is-enabled notifyd)"
systemctl --user disable --quiet notifyd
equal "and disabled" disabled "$(systemctl --user is-enabled notifyd || true)"
drop_in watchdog <<< '[Service]
WatchdogSec=1'
systemctl --user daemon-reload
systemctl --user start notifyd || fail "systemctl start fails"
process=$(unit MainPID)
throughout 1500 "it lives on when it is idle for longer than the watchdog allows" unit_is MainPID "$process"
before=$(owner $ROUTER)
kill -STOP "$process"
eventually "stuck, it is killed by the watchdog and started again" new_owner

# --- the bus goes

# Not by SIGKILL: a manager of systemd 252 that misses its bus before it misses the process waits for itself.
before=$(unit MainPID)
systemctl --user restart dbus.service || fail "the bus cannot be restarted"
gone_with_bus() { gone "$before"; }
eventually "it does not outlive its bus" gone_with_bus
# Asking who owns the name does not start notifyd.
back() { [ -n "$(owner $ROUTER)" ]; }
eventually "with the next bus it is back" back
[ -n "$(send /post/29 'Back' 'on a new bus')" ] || fail "it does not answer on the new bus"
ok "and it works"

rm -r "$HOME/.config/systemd/user/notifyd.service.d"
systemctl --user exit || fail "the session cannot be ended"
session_over() { gone "$MANAGER"; }
eventually "the session ends" session_over
equal "and leaves no process" '' "$(processes notifyd)"

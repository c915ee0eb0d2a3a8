#!/bin/bash
# The examples that join notifyd with mail, phones, Home Assistant and Alertmanager: each against a stand-in for the other side, or a
# real broker.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs mosquitto mosquitto mosquitto_pub mosquitto-clients
needs_python gi dbus jeepney
EXAMPLES=$RIGS/../../../examples
export PATH=$PRODUCTS:$PATH PYTHONPATH=$RIGS/../../../python/src
start_bus
start_mock server
start_daemon <<'TOML'
[banner]
max_per_second = 0
TOML
record_signals

says() { grep -q -- "$2" "$T/$1.log"; }
# titles TOPIC: the titles of the events there.
titles() { call History stu "$1" 0 100 | jq -r '.[][2]'; }
titles_are() { [ "$(titles "$1")" = "$2" ]; }
# id_of TITLE: the id of the event with this title.
id_of() { call History stu / 0 100 | jq -r --arg title "$1" '.[] | select(.[2] == $title) | .[0]'; }

# --- mail

mkfifo "$T/mailbox"
background "$T/imap.log" /usr/bin/python3 "$RIGS/fake-imap.py" "$T/imap.port" "$T/mailbox"
exec 8> "$T/mailbox"
eventually_quiet "$PATIENCE" test -s "$T/imap.port" || fail "the mail server does not start"
echo 'new Before' >&8
echo secret > "$T/password"
# Without the pauses before another attempt.
sed 's/^PAUSE = .*/PAUSE = 0.2/' "$EXAMPLES/python/mail.py" > "$T/mail-quick.py"
start_mail() {
    background "$T/mail.log" /usr/bin/python3 "$T/mail-quick.py" "imap://mina@127.0.0.1:$(cat "$T/imap.port")/INBOX" "$T/password"
    MAIL=$!
}
start_mail
bodies() { call History stu /mail/INBOX 0 100 | jq -r '.[][3]' | paste -sd ' '; }
bodies_are() { [ "$(bodies)" = "$1" ]; }
eventually "mail.py reports mail that was there before" bodies_are Before
equal "with its sender" 'Mina <mina@example.org>' "$(titles /mail/INBOX)"
echo 'new Now' >&8
eventually "and of new mail" bodies_are 'Before Now'
id=$(call History stu /mail/INBOX 0 100 | jq -r '.[1][0]')
eventually "which becomes a banner" outcome_is "$id" shown
echo 'read 2' >&8
eventually "until it is read elsewhere" outcome_is "$id" dismissed
stop "$MAIL"
echo 'new Later' >&8
start_mail
eventually "what came without mail.py is told too, and nothing twice" bodies_are 'Before Now Later'

# What strangers send: NUL, a character for internal use, bytes that are not text, a head of 100 KB, half a word, nothing at all.
raw() { printf 'raw %s\n' "$(printf '%b' "$1" | base64 -w 0)" >&8; }
raw 'From: =?utf-8?q?x=00=EF=BF=BF?= <x@y>\r\nSubject: =?utf-8?q?a=00b?=\r\n\r\n'
raw 'From: \0377\0376 <\r\nSubject: c\0377d\0001\r\n\r\n'
raw "From: <\r\nSubject: $(head -c 100000 /dev/zero | tr '\0' e)\r\n\r\n"
raw 'Subject: =?utf-8?q?\r\n\r\n'
raw ''
echo 'new Last' >&8
last_is_told() { [[ $(bodies) == *' Last' ]]; }
eventually "whatever a mail says, it ends nothing" last_is_told
equal "and each is told" 9 "$(call History stu /mail/INBOX 0 100 | jq length)"
equal "with what a text may hold" 'a�b' "$(call History stu /mail/INBOX 0 100 | jq -r '.[3][3]')"
# Without notifyd, and refused by it.
stop "$DAEMON"
eventually "notifyd is gone" unowned $ROUTER
echo 'new Meanwhile' >&8
start_daemon <<'TOML'
[banner]
max_per_second = 0
TOML
meanwhile_is_told() { [[ $(bodies) == *' Last Meanwhile' ]]; }
eventually "what comes while notifyd is gone is told when it is back" meanwhile_is_told
stop "$MAIL"
mail_ends() { "$EXAMPLES/python/mail.py" "imap://mina@127.0.0.1:$(cat "$T/imap.port")/$1" "$T/password" 2>&1; }
case $(mail_ends Nowhere) in
*Traceback* | '') fail "a folder that is not there ends mail.py with a traceback" ;;
'The server does not open the folder Nowhere'*) ok "a folder that is not there is a mistake that mail.py explains" ;;
*) fail "mail.py does not say that the folder is not there" ;;
esac
# Rounds without news, one after the other; IMAP writes the folder in modified UTF-7.
sed 's/^ROUND = .*/ROUND = 0.1/' "$EXAMPLES/python/mail.py" > "$T/mail.py"
background "$T/rounds.log" /usr/bin/python3 "$T/mail.py" \
    "imap://mina@127.0.0.1:$(cat "$T/imap.port")/Entw%C3%BCrfe" "$T/password"
ROUNDS=$!
echo "idled $T/idled" >&8
eventually "mail.py ends quiet rounds, and opens a folder whose name is not ASCII" test -e "$T/idled"
equal "without an error" '' "$(cat "$T/rounds.log")"
stop "$ROUNDS"

# --- a phone

phone() { busctl --user --json=short call org.kde.kdeconnect /phone org.notifyd.Test.Phone "$@" | jq -r '.data[0]?'; }
background "$T/phone.log" /usr/bin/python3 "$RIGS/fake-kdeconnect.py"
eventually_quiet "$PATIENCE" owned org.kde.kdeconnect || fail "the stand-in for KDE Connect does not start"
phone Post ssss 1 Chat Early 'before kdeconnect.py' > /dev/null
sed 's/^PAUSE = .*/PAUSE = 1/' "$EXAMPLES/python/kdeconnect.py" > "$T/kdeconnect.py"
start_kdeconnect() {
    background "$T/kdeconnect.log" /usr/bin/python3 "$T/kdeconnect.py"
    KDECONNECT=$!
}
start_kdeconnect
eventually "kdeconnect.py reports what is on the phone" titles_are /phone/Chat Early
phone Post ssss 2 Chat 'Mina' 'Are you there?' > /dev/null
eventually "and of what comes" titles_are /phone/Chat $'Early\nMina'
mina=$(id_of Mina)
eventually "which becomes a banner" outcome_is "$mina" shown
phone Remove s 2 > /dev/null
eventually "until it is dismissed on the phone" outcome_is "$mina" dismissed
call Claim t "$(id_of Early)" > /dev/null
phone_dismissed() { [ "$(phone Dismissed)" = 1 ]; }
eventually "what is claimed here is dismissed there" phone_dismissed
phone Post ssss 3 Chat News one > /dev/null
eventually "a notification" titles_are /phone/Chat $'Early\nMina\nNews'
phone Post ssss 3 Chat News two > /dev/null
eventually "whose text changes is told again" titles_are /phone/Chat $'Early\nMina\nNews\nNews'
equal "and nothing that was not dismissed here is dismissed there" 1 "$(phone Dismissed)"
up() { phone Post ssss "$1" Clock Timer "Time's up" > /dev/null; }
timers_are() { [ "$(titles /phone/Clock | wc -l)" = "$1" ]; }
up 4
eventually "a timer is told" timers_are 1
phone Remove s 4 > /dev/null
up 5
eventually "and another one with the same words is told as well" timers_are 2
timer=$(call History stu /phone/Clock 0 10 | jq '.[1][0]')
eventually "and has its banner" outcome_is "$timer" shown
count() { call History stu /phone 0 100 | jq length; }
before=$(count)
phone Reconnect > /dev/null
stop "$KDECONNECT"
start_kdeconnect
phone Post ssss 20 Chat Then 'after the reconnection' > /dev/null
then_is_told() { titles /phone/Chat | grep -qx Then; }
eventually "after the phone and kdeconnect.py have come back, they go on" then_is_told
equal "and nothing is told twice" $((before + 1)) "$(count)"
call Claim t "$timer" > /dev/null
timer_is_gone() { [[ $(phone Dismissed) == "1 "* ]]; }
eventually "what was told before is dismissed there, too" timer_is_gone
up 21
eventually "and a third timer is news" timers_are 3
wide=$(printf '\U20000%.0s' {1..40})
phone Post ssss 22 "$wide" 'for internal use' "$(head -c 20000 /dev/zero | tr '\0' x)" > /dev/null
phone Post ssss 23 '' '' '' > /dev/null
strange_is_told() { [ "$(titles "/phone/${wide:0:16}")" = � ] && [ "$(titles /phone/unknown | wc -l)" = 1 ]; }
eventually "whatever an app is called and says, it is told" strange_is_told
stop "$DAEMON"
eventually "notifyd is gone again" unowned $ROUTER
phone Post ssss 24 Chat Meanwhile 'without notifyd' > /dev/null
phone Remove s 22 > /dev/null
eventually "kdeconnect.py notices" says kdeconnect 'notifyd: '
start_daemon <<'TOML'
[banner]
max_per_second = 0
TOML
meanwhile_on_phone() { titles /phone/Chat | grep -qx Meanwhile; }
eventually "what comes while notifyd is gone is told when it is back" meanwhile_on_phone

# --- Home Assistant and Alertmanager, by a broker

printf 'user root\nlistener 0 %s\nallow_anonymous true\n' "$T/broker" > "$T/mosquitto.conf"
background "$T/mosquitto.log" mosquitto -c "$T/mosquitto.conf"
eventually_quiet "$PATIENCE" test -S "$T/broker" || fail "mosquitto does not start"
publish() { mosquitto_pub --unix "$T/broker" -q 1 -t "$1" -s; }
connected() {
    [ "$(busctl --user --json=short get-property org.notifyd.Bridge.mqtt /org/notifyd/Bridge1 org.notifyd.Bridge1 State 2> "$T/state.log" |
        jq -r .data)" = connected ]
}
start_bridge() {
    notifyd-mqtt --check-config --config "$EXAMPLES/$1/mqtt.toml" > "$T/check.log" || fail "the configuration for $1 is bad"
    ok "the configuration for $1 is good"
    sed "s|mqtt://localhost|unix:$T/broker|" "$EXAMPLES/$1/mqtt.toml" > "$T/mqtt.toml"
    background "$T/mqtt.log" notifyd-mqtt --config "$T/mqtt.toml" --state "$T/state/$1"
    BRIDGE=$!
    eventually "notifyd-mqtt is connected" connected
}

start_bridge home-assistant
automation() { publish home/notify/door <<< '{"title": "Door", "message": "It is open", "id": "01J"}'; }
automation
automation
printf open | publish homeassistant/lock/front/state
eventually "a state of Home Assistant is the value of its topic" titles_are /home/lock/front 'front: open'
equal "an automation of Home Assistant is one event, however often it is sent" Door "$(titles /home/door)"
mkfifo "$T/heard"
mosquitto_sub --unix "$T/broker" -q 1 -t notifyd/events > "$T/heard.json" 2> "$T/heard.log" < /dev/null &
PROCESSES+=($!)
# Until the subscription is there, messages are for nobody.
heard() { send /post/27 Nice 'Mina "likes" it' > /dev/null && grep -q '"title": "Nice"' "$T/heard.json"; }
eventually "what happens here is for automations there" heard
equal "as JSON" 'Mina "likes" it' "$(jq -r .body < "$T/heard.json" | head -n 1)"
printf 21 | publish homeassistant/sensor/outside/state
eventually "a temperature is a value" titles_are /home/sensor 'outside: 21'
temperature=$(id_of 'outside: 21')
equal "without a banner" silent "$(call Explain t "$temperature" | jq -r .outcome.data)"
printf on | publish homeassistant/binary_sensor/front_door/state
eventually "a door that opens" titles_are /home/binary_sensor 'front_door: on'
open=$(id_of 'front_door: on')
eventually "has a banner" outcome_is "$open" shown
printf off | publish homeassistant/binary_sensor/front_door/state
eventually "until it is closed" outcome_is "$open" replaced
publish home/notify/wash <<< '{"title": "Washed", "message": "Ready", "tag": "wash", "id": "02J"}'
eventually "what an automation says" titles_are /home/wash Washed
washed=$(id_of Washed)
eventually "has a banner, too" outcome_is "$washed" shown
publish home/notify/wash <<< '{"message": "clear_notification", "tag": "wash", "id": "03J"}'
eventually "until it is cleared" outcome_is "$washed" replaced
stop "$BRIDGE"

# What they mean is in Tests/RuleTests/LinkSettings.
for example in frigate zigbee2mqtt; do
    notifyd-mqtt --check-config --config "$EXAMPLES/$example/mqtt.toml" > "$T/check.log" || fail "the configuration for $example is bad"
    ok "the configuration for $example is good"
done

# Configurations alone: what they need on the other side is not here.
if [ -x "$PRODUCTS/notifyd-ntfy" ]; then
    for example in home-assistant alertmanager; do
        cp "$EXAMPLES/$example/ntfy.toml" "$T/ntfy.toml"
        (umask 077 && echo tk_secret > "$T/ntfy.token")
        notifyd-ntfy --check-config --config "$T/ntfy.toml" > "$T/check.log" 2>&1 || fail "the configuration for $example by ntfy is bad"
        ok "the configuration for $example by ntfy is good"
    done
fi

start_bridge alertmanager
publish alerts/pager <<'JSON'
{"version": "4", "groupKey": "{}:{alertname=\"DiskFull\"}", "truncatedAlerts": 0, "status": "firing", "receiver": "pager",
 "groupLabels": {"alertname": "DiskFull"}, "commonLabels": {"alertname": "DiskFull"}, "commonAnnotations": {},
 "externalURL": "http://alerts.example", "alerts": [
  {"status": "firing", "labels": {"alertname": "DiskFull", "instance": "a"}, "annotations": {"summary": "a is full"}},
  {"status": "resolved", "labels": {"alertname": "DiskFull", "instance": "b"}, "annotations": {}}]}
JSON
eventually "an alert becomes an event" titles_are /alert/pager 'firing: DiskFull'
equal "with all that it is about" $'a is full (firing)\nb (resolved)' "$(call History stu /alert 0 10 | jq -r '.[0][3]')"
full=$(id_of 'firing: DiskFull')
eventually "which has a banner" outcome_is "$full" shown
publish alerts/pager <<'JSON'
{"version": "4", "groupKey": "{}:{alertname=\"DiskFull\"}", "truncatedAlerts": 0, "status": "resolved", "receiver": "pager",
 "groupLabels": {"alertname": "DiskFull"}, "commonLabels": {"alertname": "DiskFull"}, "commonAnnotations": {},
 "externalURL": "http://alerts.example", "alerts": [
  {"status": "resolved", "labels": {"alertname": "DiskFull", "instance": "a"}, "annotations": {"summary": "a is full"}}]}
JSON
eventually "until it is resolved" outcome_is "$full" replaced
stop "$BRIDGE"

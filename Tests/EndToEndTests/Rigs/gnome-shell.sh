#!/bin/bash
# The real GNOME Shell, without a screen: banners outlive a restart of notifyd. The program that has the server's name
# tells the ends of old banners to the connection that showed them, which is gone; the shell tells everybody.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
source "$RIGS/gnome.bash"
start_bus
start_gnome_shell

# Those of programs; the shell has a few of its own.
ALL="imports.ui.main.messageTray.getSources()
    .filter(source => source.constructor.name === 'FdoNotificationDaemonSource')
    .flatMap(source => source.notifications)"
# has TITLE …: these notifications are there, and no others; in the order of the alphabet.
has() { [ "$(in_shell "$ALL.map(one => one.title).sort().join('\\n')")" = "$(printf '%s\n' "$@")" ]; }
# for_each TITLE DO
for_each() { in_shell "$ALL.filter(one => one.title === '$1').forEach(one => $2); ''" > /dev/null; }
dismiss() { for_each "$1" 'one.destroy(imports.ui.messageTray.NotificationDestroyedReason.DISMISSED)'; }
press() { for_each "$1" 'one.actions[0].callback()'; }

CONFIGURATION='[defaults]
window = "100ms"
[banner]
max_per_second = 0

[[route]]
topic = "/question/{id}"
resident = true
actions = [ { key = "answer", label = "Answer" } ]'
start_daemon <<< "$CONFIGURATION"
record_signals

# show TOPIC TITLE: its id is in ID.
show() {
    ID=$(send "$1" "$2" 'words')
    eventually "\"$2\" is shown" outcome_is "$ID" shown
}
# The shell keeps three of one program.
show /note/claimed Claimed
claimed=$ID
show /note/kept Kept
show /question/7 Question
question=$ID
eventually "the shell has all of them" has Claimed Kept Question

stop "$DAEMON" KILL
eventually "notifyd is killed" unowned $ROUTER
start_daemon <<< "$CONFIGURATION"
eventually "another one knows the server" server_is_known

equal "a claim of its topic takes a banner down" 1 "$(call ClaimTopic su /note/claimed 0)"
eventually "which the shell has closed" has Kept Question
eventually "Resolved says it was retracted" outcome_is "$claimed" retracted

show /note/kept Kept
eventually "a further event updates its banner" has 'Kept (2)' Question

press Question
invoked() {
    jq -n -e "any(inputs; .member == \"ActionInvoked\" and .payload.data == [\"/question/7\", $question, \"answer\"])" \
        "$T/signals" > "$T/invoked"
}
eventually "a button of an old banner is announced" invoked
equal "once" 1 "$(jq -c 'select(.member == "ActionInvoked")' "$T/signals" | wc -l)"
dismiss Question
eventually "a dismissal in the shell is recorded" outcome_is "$question" dismissed
dismiss 'Kept (2)'
eventually "and the end of the one that was updated" outcome_is "$ID" dismissed
daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

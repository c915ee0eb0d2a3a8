#!/bin/bash
# A real notification server, dunst, on a real X server without a screen (Xvfb): an unclaimed event becomes
# a banner, a claimed one does not, and a late claim takes its banner down.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs dunst dunst dunstctl dunst Xvfb xvfb
start_bus

# start_dunst MARKUP: "full" makes dunst announce the capability body-markup, "no" does not.
start_dunst() {
    printf '[global]\nfont = DejaVu Sans 12\nmarkup = %s\nhistory_length = 50\n' "$1" > "$T/dunstrc"
    background "$T/dunst.log" dunst -config "$T/dunstrc"
    DUNST=$!
    eventually_quiet "$PATIENCE" owned $SERVER || fail "dunst does not start"
}

displayed() { dunstctl count displayed; }
displayed_is() { [ "$(displayed)" = "$1" ]; }

# closed FIELD: that field of the banner closed last.
closed() { dunstctl history | jq -r ".data[0][0].$1.data"; }
closed_summary_is() { [ "$(closed summary)" = "$1" ]; }

# What a person reads: dunst keeps the Pango markup it draws, so the tags it added go and entities are read.
drawn() {
    closed message | sed -e 's/<[^>]*>//g' -e 's/&lt;/</g' -e 's/&gt;/>/g' -e "s/&apos;\|&#39;/'/g" \
        -e 's/&quot;/"/g' -e 's/&amp;/\&/g'
}

start_xvfb 900x400
start_dunst full
# Windows of a second leave a loaded machine time for the claims that are meant to be in time.
start_daemon <<'TOML'
[defaults]
window = "1s"

[[route]]
topic = "/question/{id}"
actions = [ { key = "default", label = "Answer" } ]
TOML
record_signals

id=$(send /note/unclaimed 'Nobody looks' 'so dunst shows it')
equal "no banner before the window is over" 0 "$(displayed)"
eventually "an unclaimed event becomes a banner" displayed_is 1
eventually "Resolved says it was shown" outcome_is "$id" shown
dunstctl close
eventually "the banner has the event's title" closed_summary_is 'Nobody looks'
equal "and its body" 'so dunst shows it' "$(closed body)"
eventually "Resolved says it was dismissed, as the user closed it" outcome_is "$id" dismissed

claimed=$(send /note/claimed 'Somebody looks' 'so there is no banner')
equal "a claim in time suppresses" suppressed "$(call Claim t "$claimed")"
eventually "Resolved says it was claimed" outcome_is "$claimed" claimed
# The window of this one ends after the one before: once it is up, that one's time is over.
late=$(send /note/late 'Nobody looks yet' 'and then somebody does')
eventually "Resolved says that a later event was shown" outcome_is "$late" shown
equal "its banner is the only one, there is none for the claimed event" 1 "$(displayed)"

equal "a late claim retracts" retracted "$(call Claim t "$late")"
eventually "dunst has closed the banner" displayed_is 0
eventually "Resolved says it was retracted" outcome_is "$late" retracted
equal "the closed banner is the one claimed" 'Nobody looks yet' "$(closed summary)"

# The server stays, notifyd does not.
left=$(send /note/left 'Left up' 'by the one before')
updated=$(send /note/updated 'Updated' 'by the next one')
eventually "two banners are up" displayed_is 2
eventually "and that is written down" outcome_is "$updated" shown
stop "$DAEMON" KILL
eventually "notifyd is killed" unowned $ROUTER
background "$T/notifyd-again.log" "$PRODUCTS/notifyd"
DAEMON=$!
eventually "another one is there" owned $ROUTER
eventually "it knows the server" server_is_known
equal "a claim of its topic takes down a banner of the one before" 1 "$(call ClaimTopic su /note/left 0)"
eventually "dunst has closed it" displayed_is 1
equal "and no other" 'Left up' "$(closed summary)"
eventually "Resolved says it was retracted" outcome_is "$left" retracted
again=$(send /note/updated 'Updated' 'in place')
eventually "a further event is shown" outcome_is "$again" shown
equal "in the banner that is up" 1 "$(displayed)"
dunstctl close
eventually "it says how many" closed_summary_is 'Updated (2)'
eventually "its dismissal is that of the new event" outcome_is "$again" dismissed
eventually "and of the old one" outcome_is "$updated" dismissed

question=$(send /question/7 'A question' 'to click on')
eventually "a banner with an action is shown" outcome_is "$question" shown
dunstctl action 0
invoked() {
    jq -n -e "any(inputs; .member == \"ActionInvoked\" and .payload.data == [\"/question/7\", $question, \"default\"])" \
        "$T/signals" > "$T/invoked"
}
eventually "clicking it is announced with the topic and the event" invoked
dunstctl close

# show_verbatim HOW: text with markup in it is text, whatever the server makes of markup.
show_verbatim() {
    local title='2 < 3 & <b>title</b>' body='<b>bold</b> & <a href="x">link</a> &amp;' id
    id=$(send "/note/verbatim/$1" "$title" "$body")
    eventually "text with markup is shown $2" outcome_is "$id" shown
    dunstctl close
    eventually "the title is verbatim $2" closed_summary_is "$title"
    equal "the text drawn is verbatim $2" "$title"$'\n'"$body" "$(drawn)"
}

show_verbatim full "where dunst understands markup"

stop "$DUNST"
eventually "dunst is gone" unowned $SERVER
start_dunst no
# Shown by the second dunst, this banner also proves that its capabilities were asked for again.
show_verbatim no "where dunst takes plain text"

daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

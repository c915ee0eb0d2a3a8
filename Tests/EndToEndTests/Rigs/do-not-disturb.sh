#!/bin/bash
# The “do not disturb” of real notification servers: dunst, mako, xfce4-notifyd, and the setting of GNOME with a stand-in for its
# server. While it is on nothing but what is critical comes, and notifyd says so.
#
#     do-not-disturb.sh PRODUCTS [SERVER]
#
# A server that is not installed or unpacked is left out; see pictures.sh.

source "$(dirname "$0")/rig.bash"

if [ $# -eq 1 ]; then
    status=77
    for server in dunst mako xfce4-notifyd gnome; do
        code=0
        bash "$0" "$1" $server || code=$?
        case $code in 77) ;; 0) [ $status -ne 77 ] || status=0 ;; *) status=1 ;; esac
    done
    exit $status
fi

name=$2
rig_begin "$1"

case $name in
    dunst)
        needs dunst dunst dunstctl dunst Xvfb xvfb
        start_bus
        start_xvfb 800x400
        background "$T/dunst.log" dunst -config /dev/null
        switch() { dunstctl set-paused "$1"; }
        ;;
    mako)
        unpacked mako-notifier
        needs mako mako-notifier makoctl mako-notifier sway sway grim grim
        start_bus
        start_sway 800x400
        background "$T/mako.log" mako --default-timeout 0
        switch() { if "$1"; then makoctl mode -a do-not-disturb; else makoctl mode -r do-not-disturb; fi > "$T/mode"; }
        ;;
    xfce4-notifyd)
        unpacked xfce4-notifyd
        needs xfce4-notifyd xfce4-notifyd xfconfd xfconf xfconf-query xfconf Xvfb xvfb
        start_bus
        start_xvfb 800x400
        background "$T/xfconfd.log" xfconfd
        eventually_quiet "$PATIENCE" owned org.xfce.Xfconf || fail "xfconfd does not start"
        background "$T/xfce4-notifyd.log" xfce4-notifyd
        switch() { xfconf-query --channel xfce4-notifyd --property /do-not-disturb --create --type bool --set "$1"; }
        ;;
    gnome)
        needs gsettings libglib2.0-bin
        [ -x /usr/libexec/dconf-service ] || skip "dconf-service is not installed; on Debian: apt-get install dconf-service"
        gsettings list-keys org.gnome.desktop.notifications > "$T/keys" 2>&1 ||
            skip "there are no settings of GNOME; on Debian: apt-get install gsettings-desktop-schemas"
        start_bus
        start_mock server
        # It is GNOME's, to whoever asks.
        mock AddMethod sssss $SERVER GetServerInformation '' ssss \
            'ret = ("gnome-shell", "GNOME", "43", "1.2")' > "$T/mock"
        background "$T/dconf.log" /usr/libexec/dconf-service
        switch() {
            local shows=true
            if "$1"; then shows=false; fi
            gsettings set org.gnome.desktop.notifications show-banners $shows
        }
        ;;
    *) fail "\"$name\" is none of dunst, mako, xfce4-notifyd, gnome" ;;
esac
eventually "$name is there" owned $SERVER

start_daemon <<'TOML'
[defaults]
window = "100ms"

[[route]]
topic = "/alarm/{id}"
break_through = true
TOML
record_signals
eventually "notifyd knows it" server_is_known
causes() { property Quiet | jq -r '[.[][2]] | join(" ")'; }
causes_are() { [ "$(causes)" = "$1" ]; }
critical() {
    call Publish 'sssa{sv}a{sv}' /note/critical Critical 'comes through' 0 1 urgency y 2
}

equal "nothing is quiet" '' "$(causes)"
id=$(send /note/1 'Before' 'it is shown')
eventually "an event is shown" outcome_is "$id" shown

switch true
# mako tells nobody of a mode before 1.8: notifyd asks when a banner is due.
event_is_muted() {
    id=$(send /note/2 'Meanwhile' 'it is not shown')
    eventually_quiet "$PATIENCE" decided "$id" && outcome_is "$id" muted
}
decided() { [ -n "$(outcome "$1")" ]; }
eventually "an event is muted while it is on" event_is_muted
equal "the cause is the desktop" desktop "$(causes)"
equal "and why says so" "The desktop's own “do not disturb” was on." \
    "$(busctl --user --json=short call $ROUTER $ROUTER_PATH $ROUTER Explain t "$id" | jq -r '.data[0].reason.data')"
id=$(critical)
eventually "what is critical is shown" outcome_is "$id" shown
id=$(send /alarm/1 'Fire' 'breaks through')
eventually "and so is a route that breaks through" outcome_is "$id" shown

switch false
eventually "it is off again" causes_are ''
id=$(send /note/3 'Afterwards' 'it is shown')
eventually "and events are shown" outcome_is "$id" shown

switch true
stop "$DAEMON"
background "$T/notifyd-again.log" "$PRODUCTS/notifyd"
DAEMON=$!
eventually "a new notifyd is there" owned $ROUTER
[ "$name" = mako ] && eventually "and mutes" event_is_muted
eventually "and finds it on" causes_are desktop
daemon_lives || fail "notifyd has ended"
ok "notifyd lives"

#!/bin/bash
# Pictures of banners: one push with everything that a banner can have, and then two pushes in one banner, on each of GNOME Shell,
# dunst, xfce4-notifyd and mako. A server that is not installed is left out.
#
#     pictures.sh PRODUCTS [SERVER]
#
# mako and xfce4-notifyd are not installed for the tests: the bus of the user would start one of them in place of the desktop's own
# server. ".ci/packages test" unpacks them into a folder, where this script finds them.

source "$(dirname "$0")/rig.bash"

# --- all of them: GNOME Shell takes as long as the others together

if [ $# -eq 1 ]; then
    rig_begin "$@"
    status=77
    # note STATUS: a failure counts more than a success, and that more than a server that is not there.
    note() {
        case $1 in 77) ;; 0) [ "$status" -ne 77 ] || status=0 ;; *) status=1 ;; esac
    }
    bash "$0" "$1" gnome-shell > "$T/gnome" 2>&1 &
    PROCESSES+=($!)
    for server in dunst xfce4-notifyd mako; do
        code=0
        bash "$0" "$1" $server || code=$?
        note $code
    done
    code=0
    wait "${PROCESSES[0]}" || code=$?
    cat "$T/gnome"
    note $code
    [ $status -ne 1 ] || REPORTED=yes
    exit $status
fi

# --- one of them

name=$2
rig_begin "$1"
needs busctl systemd

start_dunst() {
    needs dunst dunst Xvfb xvfb
    start_bus
    start_xvfb 800x400
    printf '[global]\nfont = DejaVu Sans 12\nmarkup = full\n' > "$T/dunstrc"
    background "$T/dunst.log" dunst -config "$T/dunstrc"
}

start_xfce() {
    unpacked xfce4-notifyd
    needs xfce4-notifyd xfce4-notifyd xfconfd xfconf Xvfb xvfb
    start_bus
    start_xvfb 800x400
    background "$T/xfconfd.log" xfconfd
    eventually_quiet "$PATIENCE" owned org.xfce.Xfconf || fail "xfconfd does not start"
    background "$T/xfce4-notifyd.log" xfce4-notifyd
}

start_mako() {
    unpacked mako-notifier
    needs mako mako-notifier sway sway grim grim
    start_bus
    start_sway 800x400
    background "$T/mako.log" mako --font 'DejaVu Sans 12' --default-timeout 0
}

# picture NAME: a picture of the screen.
case $name in
    gnome-shell)
        source "$RIGS/gnome.bash"
        start_bus
        start_gnome_shell
        picture() {
            busctl --user call org.gnome.Shell.Screenshot /org/gnome/Shell/Screenshot org.gnome.Shell.Screenshot \
                Screenshot bbs false false "$T/$1.png" > /dev/null
        }
        # What the shell says by itself, such as a warning for root, would stay in front of our banners.
        in_shell "const main = imports.ui.main; main.overview.hide();
            main.messageTray.getSources().forEach(source => source.destroy()); ''" > /dev/null
        is_bare() { [ "$(in_shell '!imports.ui.main.overview.visible && !imports.ui.main.messageTray._banner')" = true ]; }
        eventually "gnome-shell shows an empty desktop" is_bare
        in_front() { [ "$(in_shell 'imports.ui.main.messageTray._banner?.notification.title ?? ""')" = "$1" ]; }
        ;;
    dunst | xfce4-notifyd)
        if [ "$name" = dunst ]; then start_dunst; else start_xfce; fi
        picture() { cp "$T/Xvfb_screen0" "$T/$1.ppm"; }
        ;;
    mako)
        start_mako
        picture() { grim -t ppm "$T/$1.ppm"; }
        ;;
    *) fail "\"$name\" is none of gnome-shell, dunst, xfce4-notifyd, mako" ;;
esac
eventually "$name is there" owned $SERVER
file() { if [ -f "$T/$1.png" ]; then echo "$T/$1.png"; else echo "$T/$1.ppm"; fi; }
changes() { picture "$1" && ! cmp --silent "$(file "$1")" "$(file "$2")"; }
# settled NAME: the picture NAME does not change any more, as that of a banner that has slid in.
settled() {
    picture "$1" && sleep 0.5 && picture "$1-again" && cmp --silent "$(file "$1")" "$(file "$1-again")"
}

# A blue picture of 64 × 64 points.
/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(b"P6\n64 64\n255\n" + bytes((40, 90, 220)) * 64 * 64)' > "$T/blue.ppm"
/usr/bin/python3 "$RIGS/png.py" "$T/blue.ppm" "$T/image.png"

start_daemon <<'TOML'
[defaults]
window = "300ms"
TOML
record_signals
busctl --user --json=short monitor --match="type='method_call',interface='$SERVER',member='Notify'" \
    > "$T/notify" 2> "$T/notify.log" < /dev/null &
PROCESSES+=($!)
eventually_quiet "$PATIENCE" grep -qs '^Monitoring' "$T/notify.log" || fail "busctl monitor does not start"
eventually_quiet "$PATIENCE" server_is_known || fail "notifyd does not know $name"

notifies() { [ "$(wc -l < "$T/notify")" -ge "$1" ]; }
# argument FILTER: of the last call of Notify, by a filter of jq on its arguments.
argument() { tail -n 1 "$T/notify" | jq -r ".payload.data | $1"; }
# can CAPABILITY
can() { busctl --user call $SERVER $SERVER_PATH $SERVER GetCapabilities | grep -q "\"$1\""; }

eventually "$name: the screen is still" settled empty
id=$("$PRODUCTS/notifyctl" send /meal/1 'Soup is ready' 'Come & eat <soon>' --app Kitchen --icon dialog-information \
    --image "$T/image.png" --urgency critical --progress 60 --action eat=Eat --action later=Later)
eventually "$name has shown it" outcome_is "$id" shown
eventually "$name: Notify was called" notifies 1
equal "$name: with the application" Kitchen "$(argument '.[0]')"
equal "$name: with the icon" dialog-information "$(argument '.[2]')"
equal "$name: with the title" 'Soup is ready' "$(argument '.[3]')"
equal "$name: with the urgency" 2 "$(argument '.[6].urgency.data')"
equal "$name: with the progress" 60 "$(argument '.[6].value.data')"
equal "$name: with the picture" "$T/image.png" "$(argument '.[6]["image-path"].data' | sed 's|^file://||')"
if can actions; then equal "$name: with the buttons" 'eat Eat later Later' "$(argument '.[5] | join(" ")')"; fi
if can body-markup; then body='Come &amp; eat &lt;soon&gt;'; else body='Come & eat <soon>'; fi
equal "$name: with the body" "$body" "$(argument '.[4]')"
if [ "$name" = gnome-shell ]; then eventually "gnome-shell has it in front" in_front 'Soup is ready'; fi
eventually "$name has changed the screen" changes full empty
eventually "$name has drawn it" settled full

"$PRODUCTS/notifyctl" claim "$id" > /dev/null
send /post/27 'First' 'one' > /dev/null
id=$(send /post/27 'Second' 'and another')
eventually "$name has shown two events" outcome_is "$id" shown
eventually "$name: in one banner" notifies 2
equal "$name: that names both" 2 "$(argument '.[4] + .[3]' | grep -o -E 'First|Second' | sort -u | wc -l)"
if [ "$name" = gnome-shell ]; then eventually "gnome-shell has them in front" in_front 'Second (2)'; fi
eventually "$name has changed the screen again" changes several full
eventually "$name has drawn them" settled several
if cmp --silent "$(file several)" "$(file empty)"; then fail "$name shows no banner for two events"; fi

keep_pictures "$name" full several
daemon_lives || fail "notifyd has ended"
ok "$name: notifyd lives"

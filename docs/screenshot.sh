#!/bin/bash
# Makes docs/screenshot.png: a real desktop of dunst and a GTK window on an X server without a screen, and two pushes, of
# which the window claims one; or docs/browser.png, with a tab of Chromium instead of the window. Prints what "notifyctl why" draws
# of both pushes.
#
#     docs/screenshot.sh .build/debug [window | browser] [PICTURE]

DOCS=$(cd "$(dirname "$0")" && pwd)
source "$DOCS/../Tests/EndToEndTests/Rigs/rig.bash"
rig_begin "$@"
needs Xvfb xvfb dunst dunst import imagemagick xdotool xdotool
needs_python gi
KIND=${2:-window}
export PATH=$PRODUCTS:$PATH
case $KIND in
    window) WIDTH=960 HEIGHT=460 MIDDLE=557 TITLE='Post 27 is on screen: claimed, no banner' PICTURE=${3:-$DOCS/screenshot.png} ;;
    browser) WIDTH=1000 HEIGHT=520 MIDDLE=597 TITLE='Post 27 is in the tab: claimed, no banner' PICTURE=${3:-$DOCS/browser.png} ;;
    *) fail "\"$KIND\" is neither window nor browser" ;;
esac
start_bus

mkfifo "$T/display"
Xvfb -displayfd 3 -screen 0 ${WIDTH}x${HEIGHT}x24 -dpi 96 -nolisten tcp 3> "$T/display" > "$T/xvfb.log" 2>&1 < /dev/null &
PROCESSES+=($!)
read -r -t "$PATIENCE" number < "$T/display" || fail "Xvfb does not start"
export DISPLAY=:$number

# The wallpaper says what is to be seen. (The offsets are those of the window and of the banner.)
convert -size ${WIDTH}x$HEIGHT canvas:'#2f4a70' -fill white -font Cantarell-Bold -pointsize 21 \
    -annotate +40+46 "$TITLE" -annotate +$MIDDLE+46 'Post 28 is not: a banner' \
    -fill '#c3d0e3' -font DejaVu-Sans-Mono -pointsize 13 \
    -annotate +40+72 'notifyctl send post 27' -annotate +$MIDDLE+72 'notifyctl send post 28' "$T/wallpaper.png"
display -window root "$T/wallpaper.png" || true # having set the background, it ends with 1

cat > "$T/dunstrc" <<'RC'
[global]
font = Cantarell 12
format = "<b>%s</b>\n%b"
markup = full
origin = top-right
offset = 40x92
width = 360
height = 200
padding = 16
horizontal_padding = 20
frame_width = 1
frame_color = "#d0d4da"
separator_height = 1
icon_position = off
[urgency_normal]
background = "#ffffff"
foreground = "#2e3436"
timeout = 0
RC
background "$T/dunst.log" dunst -config "$T/dunstrc"
eventually_quiet "$PATIENCE" owned $SERVER || fail "dunst does not start"
start_daemon < /dev/null
record_signals

# A GTK window that holds its screen by itself.
start_window() {
    mkdir "$T/config/gtk-4.0"
    printf '[Settings]\ngtk-font-name = Cantarell 11\n' > "$T/config/gtk-4.0/settings.ini"
    background "$T/window.log" env GDK_BACKEND=x11 GSK_RENDERER=cairo GTK_A11Y=none GTK_THEME=Adwaita \
        "$DOCS/../examples/gtk/post-window.py" 27
    found() { WINDOW=$(xdotool search --onlyvisible --name '^Post 27$' | tail -n 1) && [ -n "$WINDOW" ]; }
    eventually_quiet "$PATIENCE" found || fail "the window does not appear"
    xdotool windowmove "$WINDOW" 40 92 windowfocus "$WINDOW"
}

# A tab of Chromium, which the extension holds the screen of.
start_browser() {
    needs chromium chromium openbox openbox
    background "$T/openbox.log" openbox --sm-disable
    printf '[[site]]\naddress = "http://trails.localhost/posts/{id}"\ntopic = "/post/{id}"\n' > "$T/config/notifyd/browser.toml"
    notifyctl browser install --host "$PRODUCTS/notifyd-browser" chromium > "$T/install.log" || fail "notifyctl browser install"
    mkfifo "$T/comments"
    exec 8<> "$T/comments"
    /usr/bin/python3 "$DOCS/screenshot-site.py" "$T/port" <&8 > "$T/site.log" 2>&1 8>&- &
    PROCESSES+=($!)
    eventually_quiet "$PATIENCE" test -s "$T/port" || fail "the site does not start"
    local sandbox=()
    [ "$(id -u)" -ne 0 ] || sandbox=(--no-sandbox)
    # As in a test, it says nothing of these options.
    background "$T/chromium.log" chromium "${sandbox[@]}" --test-type --no-first-run --disable-gpu --password-store=basic \
        --user-data-dir="$T/config/chromium" --load-extension="$DOCS/../browser" --hide-crash-restore-bubble \
        --disable-features=DisableLoadExtensionCommandLineSwitch --window-position=40,92 --window-size=520,388 \
        --host-resolver-rules="MAP trails.localhost 127.0.0.1:$(cat "$T/port")" http://trails.localhost/posts/27
}

"start_$KIND"
focused() { notifyctl status | grep -q '/post/27 .*focused'; }
eventually "the window is in front and has a screen" focused

comment='What a view! Next time I get up early, too.'
[ "$KIND" = window ] || echo "Jun: $comment" >&8
claimed=$(notifyctl send post 27 'Jun commented' "$comment")
eventually "one push is claimed" outcome_is "$claimed" claimed
shown=$(notifyctl send post 28 '' 'Mina: who is in for Sunday at eight?')
eventually "the other one is shown" outcome_is "$shown" shown

# Two programs have been told to draw; a picture is final when the next one is the same.
steady() {
    import -window root "$T/last.png"
    sleep 0.5
    import -window root "$T/next.png"
    [ "$(compare -metric AE "$T/last.png" "$T/next.png" null: 2>&1)" = 0 ]
}
eventually "everything is drawn" steady
convert "$T/last.png" +dither -colors 64 -strip PNG8:"$PICTURE"
ok "the picture is ${PICTURE##*/}, $(stat --format=%s "$PICTURE") bytes"
notifyctl why "$claimed"
notifyctl why "$shown"

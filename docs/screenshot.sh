#!/bin/bash
# Makes docs/screenshot.png: a real desktop of dunst and a GTK window on an X server without a screen, and two pushes, of
# which the window claims one. Prints what "notifyctl why" draws of both.
#
#     docs/screenshot.sh .build/debug [PICTURE]

source "$(dirname "$0")/../Tests/EndToEndTests/Rigs/rig.bash"
rig_begin "$@"
needs Xvfb xvfb dunst dunst import imagemagick xdotool xdotool
needs_python gi
PICTURE=${2:-$RIGS/../../../docs/screenshot.png}
export PATH=$PRODUCTS:$PATH
WIDTH=960 HEIGHT=460
start_bus

mkfifo "$T/display"
Xvfb -displayfd 3 -screen 0 ${WIDTH}x${HEIGHT}x24 -dpi 96 -nolisten tcp 3> "$T/display" > "$T/xvfb.log" 2>&1 < /dev/null &
PROCESSES+=($!)
read -r -t "$PATIENCE" number < "$T/display" || fail "Xvfb does not start"
export DISPLAY=:$number

# The wallpaper says what is to be seen. (The offsets are those of the window and of the banner.)
convert -size ${WIDTH}x$HEIGHT canvas:'#2f4a70' -fill white -font Cantarell-Bold -pointsize 21 \
    -annotate +40+46 'Post 27 is on screen: claimed, no banner' -annotate +557+46 'Post 28 is not: a banner' \
    -fill '#c3d0e3' -font DejaVu-Sans-Mono -pointsize 13 \
    -annotate +40+72 'notifyctl send post 27' -annotate +557+72 'notifyctl send post 28' "$T/wallpaper.png"
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

mkdir "$T/config/gtk-4.0"
printf '[Settings]\ngtk-font-name = Cantarell 11\n' > "$T/config/gtk-4.0/settings.ini"
background "$T/window.log" env GDK_BACKEND=x11 GSK_RENDERER=cairo GTK_A11Y=none GTK_THEME=Adwaita \
    "$RIGS/../../../examples/gtk/post-window.py" 27
found() { WINDOW=$(xdotool search --onlyvisible --name '^Post 27$' | tail -n 1) && [ -n "$WINDOW" ]; }
eventually_quiet "$PATIENCE" found || fail "the window does not appear"
xdotool windowmove "$WINDOW" 40 92 windowfocus "$WINDOW"
focused() { notifyctl status | grep -q '/post/27 .*focused'; }
eventually "the window is in front and has a screen" focused

claimed=$(notifyctl send post 27 'Jun commented' 'What a view! Next time I get up early, too.')
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

#!/bin/bash
# Real shells in a real tmux, whose terminal is a window of another tmux: a long command gets a banner, unless its pane is looked at.

. "$(dirname "$0")/rig.bash"
needs bash bash fish fish script bsdutils tmux tmux zsh zsh
rig_begin "$@"
start_bus
start_mock server
start_daemon < /dev/null
eventually "the notification server is known" server_is_known
record_signals
export PATH=$PRODUCTS:$PATH NOTIFYD_SHELL_SECONDS=1 SHELL=/bin/bash TERM=xterm-256color ZDOTDIR=$T/zsh TMUX_TMPDIR=$T
unset TMUX TMUX_PANE WINDOWID

# What users write into their configurations.
mkdir -p "$T/config/fish" "$T/zsh"
# shellcheck disable=SC2016 # for the shells
{
    printf '%s\n' 'HISTCONTROL=ignoreboth' 'trap "[[ \${TRAP:=yes} ]]" DEBUG' 'PROMPT_COMMAND="LAST=\$?"' \
        'eval "$(notifyctl shell init bash)"' 'PS1="ready\$LAST> "' > "$HOME/.bashrc"
    printf '%s\n' 'precmd() { LAST=$? }' 'eval "$(notifyctl shell init zsh)"' 'setopt prompt_subst hist_ignore_space' \
        'PS1='\''ready$LAST> '\' > "$T/zsh/.zshrc"
    printf '%s\n' 'function fish_prompt; echo "ready$status> "; end' 'function fish_greeting; end' \
        'notifyctl shell init fish | source' > "$T/config/fish/config.fish"
}
printf "set -g focus-events on; run-shell -b 'notifyd-focus --tmux'\n" > "$T/tmux.conf"

inner() { tmux -L inner -f "$T/tmux.conf" "$@"; }
outer() { tmux -L outer -f /dev/null "$@"; }
at_end() {
    { inner kill-server; outer kill-server; } 2> /dev/null || true
    (exit "$1") || rig_end "$2"
    rig_end ''
}
trap 'at_end "$?" "$BASH_COMMAND"' EXIT

# type PANE TEXT: types it, and Enter.
type() { inner send-keys -t "$1" -l -- "$2" && inner send-keys -t "$1" Enter; }
# prompts PANE STATUS: it shows a prompt with the status of the last command.
prompts() { inner capture-pane -p -t "$1" | grep -v '^ *$' | tail -n 1 | grep -q "^ready$2> *\$"; }
screens() { busctl --user --json=short call $ROUTER $ROUTER_PATH $ROUTER ListScreens | jq -r '.data[0][] | "\(.[1]) \(.[3])"'; }
screens_are() { [ "$(screens)" = "$1" ]; }
topic_of() { printf '/shell/%s/tmux-%s\n' "$(uname -n)" "$(inner display-message -p -t "$1" '#{pid}-#{s/%//:pane_id}')"; }
screen_is() { screens_are "$(topic_of "$1") focused"; }
# events PANE TITLE [JQ]: what the pane reported of a command.
events() {
    jq -r "select(.member == \"Event\") | .payload.data | select(.[0] == \$topic and .[2] == \$title) | ${3:-.[1]}" \
        --arg topic "$(topic_of "$1")" --arg title "$2" "$T/signals" 2> /dev/null
}
count_is() { [ "$(events "$1" "$2" | wc -l)" = "$3" ]; }
ends_as() {
    local id
    id=$(events "$1" "$2" | tail -n 1)
    [ -n "$id" ] && outcome_is "$id" "$3"
}

inner new-session -d -s work -n bash -x 100 -y 30 bash
inner new-window -d -n zsh zsh
inner new-window -d -n fish fish
inner new-window -d -n none cat
outer new-session -d -x 100 -y 30 "env -u TMUX tmux -L inner attach -t work"
outer set-option -s focus-events on
outer new-window -d -n elsewhere cat
mkfifo "$T/keys"
exec 9<> "$T/keys"
TERM=xterm-256color script -qfc "tmux -L outer attach" /dev/null <&9 > /dev/null 2>&1 9>&- &
PROCESSES+=($!)

shells=(bash zsh fish)
for shell in "${shells[@]}"; do eventually "$shell is ready" prompts "work:$shell" 0; done
eventually "the pane that is looked at holds its screen" screen_is work:bash

# In panes that are not looked at.
inner select-window -t work:none
eventually "with another pane another screen is held" screen_is work:none
# shellcheck disable=SC2016 # as it is typed
hostile=': '\''$(touch was-run) %s \033[31m'\''; sleep 1.1; sh -c "exit 3"'
for shell in "${shells[@]}"; do
    type "work:$shell" ': short'
    type "work:$shell" ' sleep 1.1; : secret'
    type "work:$shell" 'sh -c "sleep 1.1; : interactive"'
    type "work:$shell" 'sleep 1.1; : twice'
    type "work:$shell" 'sleep 1.1; : twice'
    type "work:$shell" "$hostile"
done
for shell in "${shells[@]}"; do
    eventually "$shell reports a long command, and its text is only text" ends_as "work:$shell" "$hostile" shown
    equal "with its status" "3 1 Exit status 3 after 1 s" \
        "$(events "work:$shell" "$hostile" '"\(.[4]."exit-code".data) \(.[4].duration.data) \(.[3])"')"
    equal "and it reports each time" 2 "$(events "work:$shell" 'sleep 1.1; : twice' | wc -l)"
    for text in ': short' 'sleep 1.1; : secret' 'sh -c "sleep 1.1; : interactive"'; do
        equal "$shell does not report \"$text\"" '' "$(events "work:$shell" "$text")"
    done
    eventually "the prompt of $shell has its status" prompts "work:$shell" 3
done
[ -z "$(find "$T" -name was-run)" ] || fail "something was run"
eventually "the user's DEBUG trap is kept" eval 'type work:bash "trap -p DEBUG" && inner capture-pane -p -t work:bash | grep -qF TRAP:=yes'

# In the pane that is looked at, until its terminal loses the focus.
for shell in "${shells[@]}"; do
    inner select-window -t "work:$shell"
    eventually "the pane of $shell holds its screen" screen_is "work:$shell"
    type "work:$shell" 'sleep 1.1; : seen'
    eventually "$shell gets no banner for a command that is looked at" ends_as "work:$shell" 'sleep 1.1; : seen' claimed
done
outer select-window -t elsewhere
eventually "without the focus no screen is held" screens_are ''
type work:fish 'sleep 1.1; : away'
eventually "then there is a banner" ends_as work:fish 'sleep 1.1; : away' shown
outer select-window -t 0
eventually "and it goes when the terminal is looked at again" ends_as work:fish 'sleep 1.1; : away' retracted

# A command line of 1 MB; only the history has it, because nobody types as much.
inner select-window -t work:none
# shellcheck disable=SC2016 # as it is typed
type work:bash 'history -s ": $(head -c 1000000 /dev/zero | tr "\0" x)"; sleep 1.1'
eventually "a very long command is cut" ends_as work:bash ": $(printf '%077d' 0 | tr 0 x)…" shown

# notifyd does not answer.
kill -STOP "$DAEMON"
for shell in "${shells[@]}"; do type "work:$shell" "sleep 1.1; sh -c 'exit 4'"; done
for shell in "${shells[@]}"; do eventually "the prompt of $shell is there" prompts "work:$shell" 4; done
waiting() { pgrep -f -- "shell ended --topic /shell/$(uname -n)/tmux-$(inner display-message -p '#{pid}')-" | wc -l; }
equal "and has not waited for notifyd" 3 "$(waiting)"
kill -CONT "$DAEMON"
equal "without a bus nothing is set up" '' "$(env -u DBUS_SESSION_BUS_ADDRESS -u XDG_RUNTIME_DIR notifyctl shell init bash)"

# One that is ended leaves nothing in tmux.
hooks() { { inner show-hooks -g; inner show-hooks -gw; } | grep -c notifyd-focus; }
hooks_are() { [ "$(hooks)" -eq "$1" ]; }
inner_owner() { inner show-options -gqv @notifyd-focus | cut -d - -f 3; }
kill "$(inner_owner)"
eventually "nothing is held when it was ended" screens_are ''
eventually "and its hooks are gone" hooks_are 0
inner source-file "$T/tmux.conf"
eventually "a new one has them" hooks_are 7

# Another one takes over, and what is held ends with tmux.
owner_before=$(inner show-options -gv @notifyd-focus)
inner source-file "$T/tmux.conf"
takes_over() { [ "$(inner show-options -gv @notifyd-focus)" != "$owner_before" ]; }
eventually "after the configuration is read again, another one watches" takes_over
inner select-window -t work:zsh
eventually "and holds the screens, alone" screen_is work:zsh
inner kill-server
eventually "nothing is held when tmux has ended" screens_are ''

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
export NOTIFYD_SHELL_IGNORE='less:sh -c *sleep'
unset TMUX TMUX_PANE WINDOWID

# What users write into their configurations.
# With its folder there, fish does not begin to make completions of all manual pages.
mkdir -p "$T/config/fish" "$T/zsh" "$HOME/.local/share/fish/generated_completions"
# shellcheck disable=SC2016 # for the shells
{
    printf '%s\n' 'HISTCONTROL=ignoreboth' 'trap "[[ \${TRAP:=yes} ]]" DEBUG' 'PROMPT_COMMAND="LAST=\$?"' \
        'eval "$(notifyctl shell init bash)"' 'PS1="ready\$LAST> "' > "$HOME/.bashrc"
    printf '%s\n' 'precmd() { LAST=$? }' 'eval "$(notifyctl shell init zsh)"' 'setopt prompt_subst hist_ignore_space' \
        'PS1='\''ready$LAST> '\' > "$T/zsh/.zshrc"
    printf '%s\n' 'function fish_prompt; echo "ready$status> "; end' 'function fish_greeting; end' \
        'notifyctl shell init fish | source' > "$T/config/fish/config.fish"
}
# What else may be in a .bashrc. bash-preexec 0.4.1 to 0.6.0 install themselves at the first prompt, and know only the first element of
# PROMPT_COMMAND; what stands for it here does what matters of them.
cat > "$T/preexec.sh" <<'EOF'
__bp_imported=defined __bp_mode='' precmd_functions=() preexec_functions=()
__bp_install_string=$'__bp_trap_string="$(trap -p DEBUG)"\ntrap - DEBUG\n__bp_install'
__bp_status() { return "$1"; }
__bp_run() {
    local hook
    for hook in "${precmd_functions[@]}"; do __bp_status "$__bp_last_ret_value"; "$hook"; done
}
__bp_precmd_invoke_cmd() { __bp_last_ret_value=$?; __bp_run; }
__bp_interactive_mode() { __bp_mode=on; }
__bp_preexec_invoke_exec() {
    local hook
    [[ $__bp_mode ]] || return 0
    __bp_mode=''
    [[ $'\n'${PROMPT_COMMAND-}$'\n' != *$'\n'"$BASH_COMMAND"$'\n'* ]] || return 0
    for hook in "${preexec_functions[@]}"; do "$hook" "$BASH_COMMAND"; done
}
__bp_install() {
    [[ ${PROMPT_COMMAND-} != *__bp_precmd_invoke_cmd* ]] || return 1
    trap '__bp_preexec_invoke_exec "$_"' DEBUG
    local existing=${PROMPT_COMMAND//"$__bp_install_string"/:}
    PROMPT_COMMAND=$'__bp_precmd_invoke_cmd\n'$existing$'\n__bp_interactive_mode'
    __bp_precmd_invoke_cmd
    __bp_interactive_mode
}
PROMPT_COMMAND=${PROMPT_COMMAND:+$PROMPT_COMMAND$'\n'}$__bp_install_string
EOF
# shellcheck disable=SC2016 # for the shells
{
    line='eval "$(notifyctl shell init bash)"'
    prompt='PS1='\''ready$?> '\'
    hooks='seen() { echo "$1" >> "$HOME/seen-$ORDER"; }; preexec_functions+=(seen); precmd() { echo >> "$HOME/prompts-$ORDER"; }; precmd_functions+=(precmd)'
    printf '%s\n' ORDER=before 'PROMPT_COMMAND="LAST=\$?"' ". '$T/preexec.sh'" "$hooks" "$line" "$prompt" > "$T/before"
    printf '%s\n' ORDER=after 'PROMPT_COMMAND="LAST=\$?"' "$line" ". '$T/preexec.sh'" "$hooks" "$prompt" > "$T/after"
    printf '%s\n' 'export PROMPT_COMMAND="PIPES=(\${PIPESTATUS[@]})"' 'readonly HISTTIMEFORMAT' "$line" "$prompt" > "$T/pipes"
    printf '%s\n' 'trap "touch \"$HOME/failed\"" ERR' 'alias history=false command=false stat=false' "$line" 'set -aeuCo posix' 'IFS=0' "$prompt" \
        > "$T/strict"
    printf '%s\n' HISTCONTROL=erasedups:ignorespace "$line" "$prompt" > "$T/erasing"
    printf '%s\n' 'NOTIFYD_SHELL_SECONDS="a[\$(touch \"$HOME/was-run\")]"' "$line" "$prompt" > "$T/odd"
    printf '%s\n' 'NOTIFYD_SHELL_SECONDS=0.5' "$line" "$prompt" > "$T/fraction"
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
for name in before after pipes strict erasing odd fraction; do inner new-window -d -n "$name" bash --rcfile "$T/$name"; done
for shell in bash zsh fish; do inner new-window -d -n "$shell-asks" "$shell"; inner new-window -d -n "$shell-reads" "$shell"; done
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

# Commands that ask at their beginning, and commands that take what is typed until their end.
for shell in "${shells[@]}"; do
    for name in asks reads; do eventually "another $shell is ready" prompts "work:$shell-$name" 0; done
    type "work:$shell-asks" "touch $T/asks-$shell; head -n 1; sleep 20; : asked"
    type "work:$shell-reads" 'head -n 1; : read'
done
for shell in "${shells[@]}"; do
    eventually "$shell asks" test -e "$T/asks-$shell"
    type "work:$shell-asks" yes
done
BEGUN=$(milliseconds)

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

# Stopped, and not ended.
for shell in "${shells[@]}"; do type "work:$shell" "bash -c 'sleep 1.2; touch $T/stop-$shell; sleep 60'"; done
for shell in "${shells[@]}"; do
    eventually "a command of $shell runs" test -e "$T/stop-$shell"
    inner send-keys -t "work:$shell" C-z
    type "work:$shell" 'kill -9 %1; sleep 1.1; : stopped'
    eventually "$shell is at its prompt again" ends_as "work:$shell" 'kill -9 %1; sleep 1.1; : stopped' shown
    equal "and does not report what was stopped" '' "$(events "work:$shell" "bash -c 'sleep 1.2; touch $T/stop-$shell; sleep 60'")"
done

# Odd configurations of bash.
for name in before after; do
    eventually "bash with bash-preexec $name the line is ready" prompts "work:$name" 0
    type "work:$name" 'sleep 1.1'
    type "work:$name" false
    failing='bash -c "sleep 1.1; exit 6"'
    type "work:$name" "$failing"
    eventually "it reports" ends_as "work:$name" "$failing" shown
    equal "with the status" 6 "$(events "work:$name" "$failing" '.[4]."exit-code".data')"
    equal "and bash-preexec calls its hooks, once for each command" $'sleep 1.1\nfalse\n'"$failing" "$(cat "$HOME/seen-$name")"
    equal "and before each prompt" 4 "$(wc -l < "$HOME/prompts-$name")"
done
eventually "a bash is ready" prompts work:pipes 0
type work:pipes 'false | true'
# shellcheck disable=SC2016 # as it is typed
type work:pipes 'sleep 1.1; echo "pipes ${PIPES[*]}"'
eventually "others in PROMPT_COMMAND have PIPESTATUS" eval 'inner capture-pane -p -t work:pipes | grep -qx "pipes 1 0"'
type work:pipes 'echo "exported $(env | grep -c __notifyd)"'
eventually "nothing is exported to shells that lack the function" eval 'inner capture-pane -p -t work:pipes | grep -qx "exported 0"'
[ -z "$(inner capture-pane -p -t work:pipes | grep readonly)" ] || fail "a readonly format of the history is an error at the prompt"
eventually "a bash with errexit is ready" prompts work:strict 0
type work:strict 'sleep 1.1; : one'
type work:strict 'sleep 1.1; : two'
eventually "errexit, nounset, noclobber, POSIX mode, IFS and aliases change nothing" ends_as work:strict 'sleep 1.1; : two' shown
[ ! -e "$HOME/failed" ] || fail "a hook returns an error"
eventually "a bash with erasedups is ready" prompts work:erasing 0
for text in 'sleep 1.1; : one' 'sleep 1.1; : two' 'sleep 1.1; : one' ' sleep 1.1; : hidden' 'sleep 1.1; : three'; do type work:erasing "$text"; done
eventually "with erasedups a command is reported" ends_as work:erasing 'sleep 1.1; : three' shown
equal "also one that is in the history" 2 "$(events work:erasing 'sleep 1.1; : one' | wc -l)"
equal "but not one that is to stay secret" '' "$(events work:erasing 'sleep 1.1; : hidden')"
for name in odd fraction; do
    eventually "a bash is ready" prompts "work:$name" 0
    type "work:$name" 'sleep 1.1'
    type "work:$name" 'history -s x; NOTIFYD_SHELL_SECONDS=1'
    type "work:$name" 'sleep 1.1; : last'
    eventually "it reports" ends_as "work:$name" 'sleep 1.1; : last' shown
done
equal "what is not a number of seconds is 30" '' "$(events work:odd 'sleep 1.1')"
equal "the number may have a fraction" 1 "$(events work:fraction 'sleep 1.1' | wc -l)"
[ -z "$(inner capture-pane -p -t work:odd | grep -i error)" ] || fail "an odd number of seconds is an error at the prompt"
[ -z "$(find "$T" -name was-run)" ] || fail "something was run"
inner new-window -d -n advice "notifyctl shell init bash; cat"
eventually "on a terminal the line for the configuration has the full path" \
    eval 'inner capture-pane -J -p -t work:advice | grep -qxF "eval \"\$($(readlink -f "$PRODUCTS/notifyctl") shell init bash)\""'
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

# The kernel reports input only once in 8 seconds.
has_run() { [ "$(milliseconds)" -ge $((BEGUN + $1)) ]; }
PATIENCE=30 eventually "commands run for a while" has_run 18000
for shell in "${shells[@]}"; do
    type "work:$shell-reads" no
    type "work:$shell-reads" 'sleep 1.1; : later'
done
for shell in "${shells[@]}"; do
    eventually "$shell reports a command that only asked at its beginning" \
        ends_as "work:$shell-asks" "touch $T/asks-$shell; head -n 1; sleep 20; : asked" shown
    eventually "$shell goes on" ends_as "work:$shell-reads" 'sleep 1.1; : later' shown
    equal "and has not reported what took the input of the terminal" '' "$(events "work:$shell-reads" 'head -n 1; : read')"
done

# notifyd does not answer.
kill -STOP "$DAEMON"
for shell in "${shells[@]}"; do type "work:$shell" "sleep 1.1; sh -c 'exit 4'"; done
for shell in "${shells[@]}"; do eventually "the prompt of $shell is there" prompts "work:$shell" 4; done
waiting() { pgrep -f -- "shell ended --topic /shell/$(uname -n)/tmux-$(inner display-message -p '#{pid}')-" | wc -l; }
equal "and has not waited for notifyd" 3 "$(waiting)"
kill -CONT "$DAEMON"
equal "without a bus nothing is set up" '' "$(DBUS_SESSION_BUS_ADDRESS=unix:path=$T/none notifyctl shell init bash)"

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

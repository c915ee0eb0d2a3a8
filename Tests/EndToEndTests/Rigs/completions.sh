#!/bin/bash
# What bash, zsh and fish offer after "notifyctl …": each is asked itself, with the script that notifyctl writes for it and
# a daemon that has heard of some topics.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs zsh zsh fish fish
start_bus

mkdir "$T/scripts"
PATH=$PRODUCTS:$PATH
notifyctl --generate-completion-script bash > "$T/scripts/notifyctl"
notifyctl --generate-completion-script zsh > "$T/scripts/_notifyctl"
notifyctl --generate-completion-script fish > "$T/scripts/notifyctl.fish"

# bash_offers LINE: what bash would offer at the end of the line.
bash_offers() {
    bash --norc -c '
        source "$1/notifyctl"
        COMP_LINE=$2
        COMP_POINT=${#COMP_LINE}
        # As bash splits it, by COMP_WORDBREAKS.
        read -ra COMP_WORDS <<< "${COMP_LINE//=/ = }"
        case $COMP_LINE in *" " | *=) COMP_WORDS+=("") ;; esac
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _notifyctl notifyctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$T/scripts" "$1"
}

# zsh and fish complete only where somebody types, so they get a terminal, and what they would offer is printed instead of
# shown.
zsh_offers() { zsh -f "$T/ask-zsh" "$T/scripts" "$1" | tr -d '\r' | sed -n 's/^.*offer=//p'; }
fish_offers() { zsh -f "$T/ask-fish" "$T/scripts" "$1" | tr -d '\r' | sed -n 's/^offer=//p' | cut -f 1; }

# Ctrl-O says that the completion is over.
cat > "$T/ask-zsh" <<'ZSH'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PROMPT_EOL_MARK= fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'compadd() { local -a hits; builtin compadd -O hits "$@"; print -rl -- "offer="${^hits} }'
zpty -w shell 'say-end() { print -r -- end-of-${:-offers}; zle -I }; zle -N say-end; bindkey "^O" say-end'
zpty -w shell 'print ready-$((6 * 7))'
zpty -r shell heard '*ready-42*'
zpty -w -n shell "$2"$'\t\x0f'
zpty -r shell heard '*end-of-offers*'
zpty -d shell
print -r -- "$heard"
ZSH

cat > "$T/ask-fish" <<'ZSH'
zmodload zsh/zpty
zpty shell env TERM=dumb fish --no-config -i
zpty -w shell "source ${(q)1}/notifyctl.fish; echo ready-(math 6 x 7)"
zpty -r shell heard '*ready-42*'
zpty -w shell "complete --do-complete ${(qq)2} | string replace -r '^' 'offer='; echo end-of-(echo offers)"
zpty -r shell heard '*end-of-offers*'
zpty -d shell
print -r -- "$heard"
ZSH

# offers SHELL LINE WORD …: the shell offers each word.
offers() {
    local offered word
    offered=$("$1_offers" "$2")
    for word in "${@:3}"; do
        grep -qxF -e "$word" <<< "$offered" || return 1
    done
}

# With "filenames" bash would show the last segment of a topic only.
bash --norc -c 'source "$1/notifyctl"; complete -p notifyctl' bash "$T/scripts" | grep -q filenames &&
    fail "bash takes topics for files"
ok "bash does not take topics for files"
offers bash 'notifyctl listen --exec /bin/s' /bin/sh || fail "bash offers no files after --exec"
ok "bash offers files after --exec"
for shell in bash zsh fish; do
    offers $shell 'notifyctl why la' last || fail "$shell offers no “last” after why"
    offers $shell 'notifyctl show ' last || fail "$shell offers no “last” after show"
    ok "$shell offers “last” where it stands for the newest event"
    offers $shell 'notifyctl claim la' last || fail "$shell offers no “last” after claim"
    offers $shell 'notifyctl help ' send mark-read demo || fail "$shell offers no commands after help"
    offers $shell 'notifyctl help mar' mark-read || fail "$shell completes no command after help"
    ok "$shell offers commands after help"
    offers $shell 'notifyctl screen /post/27 -- sle' sleep || fail "$shell offers no commands after --"
    offers $shell 'notifyctl screen /post/27 --state visible -- sle' sleep || fail "$shell offers no commands after options"
    ok "$shell offers commands after --"
    ! offers $shell 'notifyctl screen /post/27 sle' sleep || fail "$shell offers commands without --"
    ok "$shell offers no commands without --"
done

mkdir "$T/files"
touch "$T/files/some-file"
cd "$T/files"
# zsh and fish offer the last segment, or the whole path.
for shell in bash zsh fish; do
    "${shell}_offers" 'notifyctl screen /post/27 -- ls ./so' | grep -qE '^(\./)?some-file$' ||
        fail "$shell offers no files to a command"
    ok "$shell offers files to a command after --"
done
cd - > /dev/null

# offers_value SHELL LINE VALUE …: the shell offers each value of an option that the line ends with.
offers_value() {
    local offered value
    offered=$("$1_offers" "$2")
    for value in "${@:3}"; do
        grep -qE -e "^(--[a-z]+=)?$value\$" <<< "$offered" || return 1
    done
}

offers_no_topic() { ! "$1_offers" "$2" | grep -q '^/'; }

for shell in bash zsh fish; do
    offers_no_topic $shell 'notifyctl listen ' || fail "$shell offers topics without a daemon"
    ok "$shell offers no topics, and complains about nothing, without a daemon"
done
unowned $ROUTER || fail "completion has started something"

# A bus that answers nobody: the prompt is back long before a call would be given up.
background "$T/mute-bus.log" /usr/bin/python3 -c "
import signal, socket
listener = socket.socket(socket.AF_UNIX)
listener.bind('$T/mute-bus')
listener.listen()
signal.pause()"
eventually_quiet "$PATIENCE" test -S "$T/mute-bus" || fail "no socket can be made"
DBUS_SESSION_BUS_ADDRESS=unix:path=$T/mute-bus timeout 5 "$PRODUCTS/notifyctl" ---completion listen -- positional@0 \
    2 0 notifyctl listen '' || fail "completion waits for a bus that hangs"
ok "nobody has to wait for a bus that hangs"

start_daemon < /dev/null
first=$(send /post/27 'Title' 'Body')
second=$(send /run/r1/mate/영희/finished 'Title' 'Body')
call OpenScreen 'sa{sv}' /chat/lobby 0 > /dev/null
# A topic or a title is free to look like a command.
# shellcheck disable=SC2016 # exactly as it stands
send '/post/$(touch was-run)' '$(touch was-run)' 'Body' > /dev/null
cd "$T"

# Two events with the same text, and topics that are quiet.
send /same 'Same' '' > /dev/null
send /same 'Same' '' > /dev/null
send /same 'Another' '' > /dev/null
notifyctl mute /quiet/1 1h
notifyctl mute /quiet/2 1h
newest_first=$(echo last; notifyctl history --json=short -n 20 | grep -o '"id":[0-9]*' | cut -d : -f 2 | sort -rn)
offers_newest_first() {
    [ "$("$1_offers" 'notifyctl why ' | grep -xE 'last|[0-9]+' | awk '!seen[$0]++')" = "$newest_first" ]
}
offers_what_is_quiet() { [ "$("$1_offers" 'notifyctl resume ' | grep '^/' | sort -u | xargs)" = '/quiet/1 /quiet/2' ]; }
for shell in bash zsh fish; do
    eventually "$shell offers what is quiet to resume" offers_what_is_quiet $shell
done
for shell in bash zsh; do
    eventually "$shell offers the last event, and the newest before older ones" offers_newest_first $shell
done

for shell in bash zsh fish; do
    eventually "$shell offers commands" offers $shell 'notifyctl cl' claim claim-topic
    eventually "$shell offers options" offers $shell 'notifyctl send --no' --no-banner
    eventually "$shell offers the values of an option" offers $shell 'notifyctl screen /post --state ' focused visible hidden
    eventually "$shell offers them after a =" offers_value $shell 'notifyctl listen --json=' short pretty
    eventually "$shell completes them after a =" offers_value $shell 'notifyctl screen /post --state=vis' visible
    eventually "$shell offers topics and what is above them" \
        offers $shell 'notifyctl listen /' /post /post/27 /run/r1 /run/r1/mate/영희/finished
    eventually "$shell offers the short forms of send, too" offers $shell 'notifyctl send ' invite /post/27
    eventually "$shell offers ids" offers $shell 'notifyctl why ' "$first" "$second"
    [ ! -e was-run ] || fail "$shell has run what a topic says"
    ok "$shell runs nothing of what a topic says"
done

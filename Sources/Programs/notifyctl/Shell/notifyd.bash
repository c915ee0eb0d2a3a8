# Written by "notifyctl shell init bash": reports at notifyd that a long command has ended. See notifyctl(1).
# shellcheck shell=bash disable=SC2016

# PS0 is expanded before each command. It takes the time without starting a process, and without a DEBUG trap, which would slow down
# every loop. A shell with promptvars off would print it as it stands.
if [[ $- == *i* && -z ${__notifyd_program-} ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)) && shopt -q promptvars; then
    __notifyd_program=@program@
    NOTIFYD_SHELL_TOPIC=@topic@
    : "${NOTIFYD_SHELL_SECONDS=@seconds@}" "${NOTIFYD_SHELL_IGNORE=@ignore@}"
    __notifyd_start='' __notifyd_number='' __notifyd_argument=''

    # $1: the status of the command; $2: its last argument.
    __notifyd_prompt() {
        local start=$__notifyd_start number=$__notifyd_number argument=$__notifyd_argument elapsed text
        __notifyd_start='' __notifyd_number=$HISTCMD __notifyd_argument=${2:0:256}
        [[ $start ]] || return
        elapsed=$(((${EPOCHREALTIME/[^0-9]/} - start) / 1000))
        ((elapsed >= NOTIFYD_SHELL_SECONDS * 1000)) || return
        # The command is the newest of the history, unless it was kept out of it: because it is the same as the one before, which is
        # likely if it leaves the same last argument, or because it is to stay secret.
        [[ -o history ]] || return
        if [[ $HISTCMD == "$number" ]]; then
            case :${HISTCONTROL-}: in
                *:ignoreboth:* | *:ignoredups:* | *:erasedups:*) ;;
                *) return ;;
            esac
            [[ $argument && $__notifyd_argument == "$argument" ]] || return
        fi
        text=$(HISTTIMEFORMAT='' builtin history 1)
        text=${text:0:4096}
        [[ $text =~ ^\ *[0-9]+[\ *]\ (.*) ]] || return
        (NOTIFYD_SHELL_COMMAND=${BASH_REMATCH[1]} NOTIFYD_SHELL_IGNORE=$NOTIFYD_SHELL_IGNORE \
            "$__notifyd_program" shell ended --topic "$NOTIFYD_SHELL_TOPIC" --status "$1" --after "${elapsed}ms" \
            < /dev/null > /dev/null 2>&1 &)
        return
    }

    PS0="${PS0-}"'${BASH_VERSION:$((__notifyd_start=${EPOCHREALTIME/[^0-9]/}, 0)):0}'
    # Each element of the array gets the status of the command, and leaves it to the others.
    PROMPT_COMMAND=('__notifyd_prompt "$?" "$_"' "${PROMPT_COMMAND[@]}")
fi

# Written by "notifyctl shell init bash": reports at notifyd that a long command has ended. See notifyctl(1).
# shellcheck shell=bash disable=SC2016

# PS0 is expanded before each command. It takes the time without starting a process, and without a DEBUG trap, which would slow down
# every loop. A shell with promptvars off would print it as it stands.
if [[ $- == *i* && ${__notifyd_shell-} != "$$" ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)) && shopt -q promptvars; then
    __notifyd_shell=$$ __notifyd_program=@program@
    NOTIFYD_SHELL_TOPIC=@topic@
    : "${NOTIFYD_SHELL_SECONDS=@seconds@}" "${NOTIFYD_SHELL_IGNORE=@ignore@}"
    __notifyd_start='' __notifyd_number='' __notifyd_newest='' __notifyd_argument='' __notifyd_is_first=yes
    # For what follows in PROMPT_COMMAND, the status of the command is kept. On the left of && it is not an error of the hook: neither
    # errexit nor an ERR trap looks at it. bash-preexec, which may be loaded later, has the status; up to 0.4.1 it leaves another one.
    __notifyd_hook='__notifyd_prompt "${__bp_last_ret_value:-$?}" "$_" && : "$_"'

    # $1: the status of the command; $2: its last argument.
    __notifyd_prompt() {
        local rest
        __notifyd_report "$1" "${2:0:256}"
        # An element of its own leaves PIPESTATUS to the others, and an array is not exported to shells that lack the function. But
        # bash-preexec 0.6.0 and earlier know only one element: so it is made one when nothing more of the configuration follows.
        if [[ $__notifyd_is_first ]]; then
            __notifyd_is_first=''
            if [[ -z ${bash_preexec_imported-}${__bp_imported-} && ${PROMPT_COMMAND-}$'\n' == "$__notifyd_hook"[$'\n;']* ]]; then
                rest=${PROMPT_COMMAND:${#__notifyd_hook}+1}
                PROMPT_COMMAND=("$__notifyd_hook" ${rest:+"$rest"} "${PROMPT_COMMAND[@]:1}")
            fi
        fi
        return "$1"
    }

    # The newest line of the history. The time format may be readonly.
    __notifyd_history() {
        HISTTIMEFORMAT='' \builtin history 1 || \builtin history 1
    }

    __notifyd_report() {
        local start=$__notifyd_start number=$__notifyd_number newest=$__notifyd_newest argument=$__notifyd_argument
        local elapsed seconds=${NOTIFYD_SHELL_SECONDS-} fraction='' text='' input
        __notifyd_start='' __notifyd_number=${HISTCMD-} __notifyd_newest='' __notifyd_argument=$2
        # With erasedups the history keeps its length. Only its newest line tells whether there is a new one.
        case :${HISTCONTROL-}: in
            *:erasedups:*) text=$(__notifyd_history 2> /dev/null) __notifyd_newest=$text ;;
        esac
        [[ $start ]] || return 0
        elapsed=$(((${EPOCHREALTIME/[^0-9]/} - start) / 1000))
        case $seconds in
            *.*) fraction=${seconds#*.} seconds=${seconds%%.*} ;;
        esac
        case $seconds$fraction in
            '' | *[!0-9]*) seconds=@seconds@ fraction='' ;;
        esac
        fraction=${fraction}000
        ((elapsed >= 10#0${seconds:0:9} * 1000 + 10#${fraction:0:3})) || return 0
        # The command is the newest of the history, unless it was kept out of it: because it is the same as the one before, which is
        # likely if it leaves the same last argument, or because it is to stay secret.
        [[ -o history ]] || return 0
        if [[ $text ]]; then
            [[ $text == "$newest" ]] && number=''
        else
            text=$(__notifyd_history 2> /dev/null)
            [[ ${HISTCMD-} == "$number" ]] && number=''
        fi
        if [[ -z $number ]]; then
            case :${HISTCONTROL-}: in
                *:ignoreboth:* | *:ignoredups:* | *:erasedups:*) ;;
                *) return 0 ;;
            esac
            [[ $argument && $2 == "$argument" ]] || return 0
        fi
        text=${text:0:4096}
        text=${text#*[0-9][ *] }
        input=$(\command stat -c %X @terminal@ 2> /dev/null)
        (NOTIFYD_SHELL_COMMAND=$text NOTIFYD_SHELL_IGNORE=${NOTIFYD_SHELL_IGNORE-} NOTIFYD_SHELL_INPUT=$input \
            "$__notifyd_program" shell ended --topic "$NOTIFYD_SHELL_TOPIC" --status "$1" --after "${elapsed}ms" \
            < /dev/null > /dev/null 2>&1 &)
    }

    PS0="${PS0-}"'${BASH_VERSION:$((__notifyd_start=${EPOCHREALTIME/[^0-9]/}, 0)):0}'
    if [[ ${bash_preexec_imported-}${__bp_imported-} ]]; then
        __notifyd_precmd() { __notifyd_prompt "$?" "$_" || :; }
        precmd_functions+=(__notifyd_precmd)
    else
        PROMPT_COMMAND=$__notifyd_hook${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}
    fi
fi

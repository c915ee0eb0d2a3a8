# Written by "notifyctl shell init zsh": reports at notifyd that a long command has ended. See notifyctl(1).

if [[ -o interactive && -z ${__notifyd_program-} ]] && zmodload zsh/datetime 2> /dev/null; then
    typeset -g __notifyd_program=@program@ __notifyd_start= __notifyd_command=
    typeset -g NOTIFYD_SHELL_TOPIC=@topic@
    typeset -g NOTIFYD_SHELL_SECONDS=${NOTIFYD_SHELL_SECONDS-@seconds@}
    typeset -g NOTIFYD_SHELL_IGNORE=${NOTIFYD_SHELL_IGNORE-@ignore@}

    __notifyd_preexec() {
        emulate -L zsh
        __notifyd_start=$EPOCHREALTIME __notifyd_command=${1[1,4096]}
    }

    __notifyd_precmd() {
        local -i code=$?
        emulate -L zsh
        local start=$__notifyd_start
        local -i elapsed
        __notifyd_start=
        [[ -n $start ]] || return code
        (( elapsed = (EPOCHREALTIME - start) * 1000 ))
        (( elapsed >= NOTIFYD_SHELL_SECONDS * 1000 )) || return code
        NOTIFYD_SHELL_COMMAND=$__notifyd_command NOTIFYD_SHELL_IGNORE=$NOTIFYD_SHELL_IGNORE \
            "$__notifyd_program" shell ended --topic "$NOTIFYD_SHELL_TOPIC" --status $code --after ${elapsed}ms \
            < /dev/null > /dev/null 2>&1 &!
        return code
    }

    autoload -Uz add-zsh-hook
    add-zsh-hook preexec __notifyd_preexec
    add-zsh-hook precmd __notifyd_precmd
fi

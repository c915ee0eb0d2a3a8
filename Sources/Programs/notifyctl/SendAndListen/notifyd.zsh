# Written by "notifyctl shell init zsh": reports at notifyd that a long command has ended. See notifyctl(1).

if [[ -o interactive && ${__notifyd_shell-} != $$ ]] && zmodload zsh/datetime 2> /dev/null; then
    # A backslash avoids an alias.
    \typeset -g __notifyd_shell=$$ __notifyd_program=@program@ __notifyd_start= __notifyd_command=
    \typeset -g NOTIFYD_SHELL_TOPIC=@topic@
    : ${NOTIFYD_SHELL_SECONDS=@seconds@} ${NOTIFYD_SHELL_IGNORE=@ignore@}

    __notifyd_preexec() {
        \emulate -L zsh
        \setopt no_err_exit no_err_return
        __notifyd_start=$EPOCHREALTIME __notifyd_command=${1[1,4096]}
    }

    # Each hook gets the status of the command, whatever the one before it returns.
    __notifyd_precmd() {
        \local -i code=$?
        \emulate -L zsh
        \setopt no_err_exit no_err_return
        \local start=$__notifyd_start seconds=$NOTIFYD_SHELL_SECONDS input
        \local -i elapsed
        __notifyd_start=
        [[ -n $start ]] || return 0
        (( elapsed = (EPOCHREALTIME - start) * 1000 ))
        [[ $seconds == [0-9]* && $seconds != *[^0-9.]* && $seconds != *.*.* ]] || seconds=@seconds@
        (( elapsed >= ${seconds[1,9]} * 1000 )) || return 0
        input=$(\command stat -c %X @terminal@ 2> /dev/null)
        NOTIFYD_SHELL_COMMAND=$__notifyd_command NOTIFYD_SHELL_IGNORE=${(j.:.)NOTIFYD_SHELL_IGNORE} NOTIFYD_SHELL_INPUT=$input \
            "$__notifyd_program" shell ended --topic "$NOTIFYD_SHELL_TOPIC" --status $code --after ${elapsed}ms \
            < /dev/null > /dev/null 2>&1 &!
        return 0
    }

    \autoload -Uz add-zsh-hook
    add-zsh-hook preexec __notifyd_preexec
    add-zsh-hook precmd __notifyd_precmd
fi

# Written by "notifyctl shell init fish": reports at notifyd that a long command has ended. See notifyctl(1).

if status is-interactive; and not set -q __notifyd_program
    set -g __notifyd_program @program@
    set -g NOTIFYD_SHELL_TOPIC @topic@
    set -q NOTIFYD_SHELL_SECONDS; or set -g NOTIFYD_SHELL_SECONDS @seconds@
    set -q NOTIFYD_SHELL_IGNORE; or set -g NOTIFYD_SHELL_IGNORE @ignore@

    function __notifyd_postexec --on-event fish_postexec
        set -l code $status
        set -l elapsed $CMD_DURATION
        test "$elapsed" -ge (math -- "$NOTIFYD_SHELL_SECONDS * 1000") 2> /dev/null; or return $code
        # The substitution makes a list of its lines.
        set -l lines (string sub --length 4096 -- "$argv[1]")
        NOTIFYD_SHELL_COMMAND="$lines[1]" NOTIFYD_SHELL_IGNORE="$NOTIFYD_SHELL_IGNORE" \
            $__notifyd_program shell ended --topic $NOTIFYD_SHELL_TOPIC --status $code --after "$elapsed"ms \
            < /dev/null > /dev/null 2>&1 &
        disown 2> /dev/null
        return $code
    end
end

# Written by "notifyctl shell init fish": reports at notifyd that a long command has ended. See notifyctl(1).

if status is-interactive; and not set -q __notifyd_program
    set -g __notifyd_program @program@
    set -g NOTIFYD_SHELL_TOPIC @topic@
    set -q NOTIFYD_SHELL_SECONDS; or set -g NOTIFYD_SHELL_SECONDS @seconds@
    set -q NOTIFYD_SHELL_IGNORE; or set -g NOTIFYD_SHELL_IGNORE @ignore@
    set -g __notifyd_stopped

    # The stopped processes of this shell. What "jobs" says of them is in the user's language.
    function __notifyd_stopped
        for process in (builtin jobs -p 2> /dev/null | string match -r '^\d+$')
            test -r /proc/$process/status; and string match -qr '^State:\s+T' < /proc/$process/status; and echo $process
        end
        return 0
    end

    function __notifyd_preexec --on-event fish_preexec
        set -g __notifyd_stopped (__notifyd_stopped)
    end

    function __notifyd_postexec --on-event fish_postexec
        set -l code $status
        set -l elapsed $CMD_DURATION
        set -l seconds "$NOTIFYD_SHELL_SECONDS"
        string match -qr '^\d{1,9}(\.\d+)?$' -- "$seconds"; or set seconds @seconds@
        test "$elapsed" -ge (math -s0 -- "$seconds * 1000") 2> /dev/null; or return 0
        # How a command ended that "fg" has continued is not known: the status is 0, also after Ctrl-C.
        string match -qr '^\s*(fg|%)' -- "$argv[1]"; and return 0
        # A command that Ctrl-Z has stopped has the status 0, too.
        for process in (__notifyd_stopped)
            contains -- $process $__notifyd_stopped; or return 0
        end
        # The substitution makes a list of its lines.
        set -l lines (string sub --length 4096 -- "$argv[1]")
        NOTIFYD_SHELL_COMMAND="$lines[1]" NOTIFYD_SHELL_IGNORE=(string join : -- $NOTIFYD_SHELL_IGNORE) \
            NOTIFYD_SHELL_INPUT=(command stat -c %X @terminal@ 2> /dev/null) \
            $__notifyd_program shell ended --topic $NOTIFYD_SHELL_TOPIC --status $code --after "$elapsed"ms \
            < /dev/null > /dev/null 2>&1 &
        disown 2> /dev/null
        return 0
    end
end

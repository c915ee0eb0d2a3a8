# What chromium.sh and firefox.sh share: a real browser with the extension on a display without a screen, and pages of our own.
#
# shellcheck shell=bash

# browser_rig chromium|firefox
browser_rig() {
    needs Xvfb xvfb openbox openbox
    needs_python gi
    start_bus
    start_xvfb 1024x768
    # A new window gets the focus, and when it closes, the one before has it again.
    cat > "$T/openbox.xml" <<-XML
	<openbox_config xmlns="http://openbox.org/3.4/rc">
	  <focus><focusNew>yes</focusNew><focusLast>yes</focusLast></focus>
	  <applications><application name="*"><focus>yes</focus></application></applications>
	</openbox_config>
	XML
    background "$T/openbox.log" openbox --sm-disable --config-file "$T/openbox.xml"
    "$PRODUCTS/notifyctl" browser install --host "$PRODUCTS/notifyd-browser" "$1" > "$T/install.log" ||
        fail "notifyctl browser install"
    (cd "$T" && /usr/bin/python3 "$RIGS/browser-tabs.py" "$1" "$PRODUCTS" "$RIGS/../../../browser") || fail "the tabs of $1"
}

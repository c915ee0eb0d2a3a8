#!/bin/bash
# The browser extension in a real Chromium: the tab that is looked at holds the screen of its address.

source "$(dirname "$0")/rig.bash"
source "$(dirname "$0")/browser.bash"
rig_begin "$@"
needs chromium chromium chromedriver chromium-driver
browser_rig chromium

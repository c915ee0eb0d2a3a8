# Makes the form of the extension for GNOME Shell 43 and 44, which know no ES modules, of that for 45 and later; also of its
# metadata.
s|^// Tells notifyd-focus .*|// Tells notifyd-focus which windows there are: notifyd-focus(8). For GNOME Shell 43 and 44.|
/^\/\/ 43 and 44 of it\.$/d
s|^import \([A-Za-z]*\) from 'gi://.*';$|const {\1} = imports.gi;|
/^import {Extension} from /d
s|^export default class NotifydFocus extends Extension {$|function init() {\n    return new NotifydFocus();\n}\n\nclass NotifydFocus {|
s|notifyd-focus@notifyd\.org|notifyd-focus-43@notifyd.org|
s|"shell-version": .*|"shell-version": ["43", "44"]|

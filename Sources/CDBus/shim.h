#pragma once
/* Nothing needs a twin here: type codes are plain ASCII letters (see ValueType), everything else imports as it is. */
#include <dbus/dbus.h>

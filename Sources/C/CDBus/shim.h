#pragma once
/* Nothing of libdbus needs a twin here: type codes are plain ASCII letters (see ValueType), everything else imports as it is. */
#include <dbus/dbus.h>
#include <stdint.h>
#include <time.h>

/* A clock of clock_gettime(2) in microseconds, or -1 where there is none. Whether Swift sees the members of a timespec
 * depends on the order in which a clean build comes to its modules. */
static inline int64_t notify_clock(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

#pragma once
/* Nothing of libdbus needs a twin here: type codes are plain ASCII letters (see ValueType), everything else imports as it is. */
#include <dbus/dbus.h>
#include <linux/stat.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>

/* A clock of clock_gettime(2) in microseconds, or -1 where there is none. Whether Swift sees the members of a timespec
 * depends on the order in which a clean build comes to its modules. */
static inline int64_t notify_clock(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* glibc declares these for _GNU_SOURCE alone, without which Swift's module Glibc is made. */
int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict status);
int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout, const sigset_t *signals);

/* Waits for some nanoseconds at most; with a negative number, for as long as it takes. poll(2) counts milliseconds. */
static inline int notifyd_poll(struct pollfd *descriptors, nfds_t count, long long nanoseconds) {
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    return ppoll(descriptors, count, nanoseconds < 0 ? 0 : &time, 0);
}

/* Its flags are an enumeration. */
static inline int notifyd_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

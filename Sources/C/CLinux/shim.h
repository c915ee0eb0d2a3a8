#pragma once
#include <linux/stat.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

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

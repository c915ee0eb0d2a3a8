#pragma once
#include <malloc.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/timerfd.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>

/* The address of this extern constant cannot be taken from Swift, which imports it as a `let`. */
static inline const unsigned *notifyd_vtable_format(void) { return &sd_bus_object_vtable_format; }

/* A macro into a union, neither of which Swift imports. */
static inline int notifyd_child_status(siginfo_t information) { return information.si_status; }

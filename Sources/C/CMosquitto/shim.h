#pragma once
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Of OpenSSL, which libmosquitto uses and does not hide: why a certificate was refused, and whether bytes are decrypted that
 * poll(2) cannot see. Its own headers take seconds to import. */
extern long SSL_get_verify_result(const void *ssl);
extern int SSL_pending(const void *ssl);
extern const char *X509_verify_cert_error_string(long number);

/* A timer that goes on while the machine sleeps. */
static inline int notifyd_mqtt_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

/* Lets it fire once at a moment of CLOCK_BOOTTIME in microseconds. */
static inline int notifyd_mqtt_timer_set(int timer, int64_t moment) {
    struct itimerspec time = {{0, 0}, {moment / 1000000, moment % 1000000 * 1000}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}

/* After it has fired. */
static inline void notifyd_mqtt_timer_clear(int timer) {
    uint64_t count;
    (void)!read(timer, &count, sizeof count);
}

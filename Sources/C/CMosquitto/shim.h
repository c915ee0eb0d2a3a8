#pragma once
#include <fcntl.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Of OpenSSL, which libmosquitto uses and does not hide: why a certificate was refused, and whether bytes are decrypted that
 * poll(2) cannot see. Its own headers take seconds to import. */
extern long SSL_get_verify_result(const void *ssl);
extern int SSL_pending(const void *ssl);
extern const char *X509_verify_cert_error_string(long number);

/* Up to version 2.0.15, libmosquitto logs an unknown property of MQTT 5 without a client, and an assertion ends the process. The next
 * process has to know with which broker: that is written to a file when a SIGABRT comes while a packet is read. */
struct notifyd_mqtt_note {
    const char *path;
    const char *broker;
};

static inline struct notifyd_mqtt_note *notifyd_mqtt_reading(void) {
    static __thread struct notifyd_mqtt_note note;
    return &note;
}

static inline void notifyd_mqtt_aborted(int number) {
    (void)number;
    const struct notifyd_mqtt_note *note = notifyd_mqtt_reading();
    if (!note->path) return;
    int file = open(note->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0) (void)!write(file, note->broker, strlen(note->broker));
}

/* When the handler returns, abort(3) ends the process. */
static inline void notifyd_mqtt_note_aborts(void) {
    struct sigaction action = {.sa_handler = notifyd_mqtt_aborted, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGABRT, &action, NULL);
}

/* mosquitto_loop_read(3). */
static inline int notifyd_mqtt_read(struct mosquitto *client, const char *path, const char *broker) {
    *notifyd_mqtt_reading() = (struct notifyd_mqtt_note){path, broker};
    int result = mosquitto_loop_read(client, 1);
    *notifyd_mqtt_reading() = (struct notifyd_mqtt_note){NULL, NULL};
    return result;
}

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

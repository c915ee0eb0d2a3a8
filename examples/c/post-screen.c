/* Stands for a window that shows a post: events about it are printed here and get no banner (sd-bus).
 *
 *     cc -o post-screen post-screen.c $(pkg-config --cflags --libs libsystemd)
 *     ./post-screen 27
 *
 * It survives restarts of notifyd and of the bus: then the screen is opened again, and events that were published
 * meanwhile are printed as well. Needs the Debian packages gcc, libc6-dev, libsystemd-dev and pkg-config.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#define ROUTER "org.notifyd.Router1"
#define ROUTER_PATH "/org/notifyd/Router1"

struct screen {
    char topic[256];
    char owner[256];    /* the unique name of the daemon; empty while there is none */
    uint64_t cursor;    /* the last event that was printed */
    bool has_cursor;
    bool is_reading;    /* a page of the journal was asked for */
    bool is_behind;     /* and there is more since */
};

static int report(sd_bus_message *reply, const char *call) {
    const sd_bus_error *error = sd_bus_message_get_error(reply);
    if (error)
        fprintf(stderr, "%s: %s\n", call, error->message);
    return error != NULL;
}

/* --- Events: a signal says that there is news, and the journal says what. So no event is missed, and none comes twice. */

static void read_news(sd_bus *bus, struct screen *screen);

/* Anybody may have written it: what a terminal would obey is left out. The bus has seen to it that it is UTF-8. */
static void print_text(const char *text, char end) {
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
        if (*byte == 0xC2 && byte[1] >= 0x80 && byte[1] < 0xA0)
            byte++;
        else if (*byte >= ' ' && *byte != 0x7F)
            putchar(*byte);
    }
    putchar(end);
}

static int on_page(sd_bus_message *reply, void *data, sd_bus_error *unused) {
    struct screen *screen = data;
    bool is_empty = true;
    uint64_t id;
    const char *topic, *title, *body;

    screen->is_reading = false;
    /* The next signal, or the next daemon, asks again. */
    if (report(reply, "History"))
        return 0;
    if (sd_bus_message_enter_container(reply, 'a', "(tsssxsa{sv})") < 0)
        return 0;
    while (sd_bus_message_enter_container(reply, 'r', "tsssxsa{sv}") > 0) {
        if (sd_bus_message_read(reply, "tsss", &id, &topic, &title, &body) < 0)
            return 0;
        sd_bus_message_skip(reply, "xsa{sv}");
        sd_bus_message_exit_container(reply);
        print_text(topic, ' ');
        print_text(title, ' ');
        print_text(body, '\n');
        screen->cursor = id;
        is_empty = false;
    }
    /* A page may be short and not be the last. */
    if (!is_empty || screen->is_behind)
        read_news(sd_bus_message_get_bus(reply), screen);
    return 0;
}

static int on_snapshot(sd_bus_message *reply, void *data, sd_bus_error *unused) {
    struct screen *screen = data;

    screen->is_reading = false;
    if (report(reply, "Snapshot") || sd_bus_message_read(reply, "t", &screen->cursor) < 0)
        return 0;
    screen->has_cursor = true;
    fprintf(stderr, "listening\n");
    read_news(sd_bus_message_get_bus(reply), screen);
    return 0;
}

static void read_news(sd_bus *bus, struct screen *screen) {
    int r;

    screen->is_behind = screen->is_reading;
    if (screen->is_reading)
        return;
    if (screen->has_cursor)
        r = sd_bus_call_method_async(bus, NULL, ROUTER, ROUTER_PATH, ROUTER, "History", on_page, screen,
                                     "stu", screen->topic, screen->cursor, 100);
    else /* The first time it prints only what comes from now on. */
        r = sd_bus_call_method_async(bus, NULL, ROUTER, ROUTER_PATH, ROUTER, "Snapshot", on_snapshot, screen,
                                     "s", screen->topic);
    screen->is_reading = r >= 0;
}

static int on_event(sd_bus_message *signal, void *data, sd_bus_error *unused) {
    read_news(sd_bus_message_get_bus(signal), data);
    return 0;
}

/* --- The screen lives as long as the daemon: the next one is asked for it again. */

static int on_opened(sd_bus_message *reply, void *data, sd_bus_error *unused) {
    if (!report(reply, "OpenScreen"))
        fprintf(stderr, "the screen is open\n");
    return 0;
}

static void daemon_changed(sd_bus *bus, struct screen *screen, const char *owner) {
    if (strcmp(screen->owner, owner) == 0)
        return;
    snprintf(screen->owner, sizeof screen->owner, "%s", owner);
    /* The former daemon answers no more. */
    screen->is_reading = false;
    if (!*owner)
        return;
    sd_bus_call_method_async(bus, NULL, ROUTER, ROUTER_PATH, ROUTER, "OpenScreen", on_opened, screen,
                             "sa{sv}", screen->topic, 1, "state", "s", "focused");
    read_news(bus, screen);
}

static int on_owner_changed(sd_bus_message *signal, void *data, sd_bus_error *unused) {
    const char *name, *former, *owner;

    if (sd_bus_message_read(signal, "sss", &name, &former, &owner) >= 0)
        daemon_changed(sd_bus_message_get_bus(signal), data, owner);
    return 0;
}

static int on_owner(sd_bus_message *reply, void *data, sd_bus_error *unused) {
    const char *owner;

    if (!sd_bus_message_get_error(reply) && sd_bus_message_read(reply, "s", &owner) >= 0)
        daemon_changed(sd_bus_message_get_bus(reply), data, owner);
    return 0;
}

/* --- The bus */

static int add_match(sd_bus *bus, const char *filter, const char *value, sd_bus_message_handler_t handler,
                     struct screen *screen) {
    char rule[1024];

    snprintf(rule, sizeof rule, "type='signal',sender='" ROUTER "',interface='" ROUTER "',member='Event',%s='%s'",
             filter, value);
    return sd_bus_add_match(bus, NULL, rule, handler, screen);
}

/* Returns when the connection is lost. */
static int run(sd_bus *bus, struct screen *screen) {
    char below[sizeof screen->topic + 1];
    int r;

    screen->owner[0] = '\0';
    screen->is_reading = screen->is_behind = false;
    snprintf(below, sizeof below, "%s/", screen->topic);
    /* The topic, and what is below it. The bus filters. Subscribe first, and ask then. */
    if ((r = add_match(bus, "arg0", screen->topic, on_event, screen)) < 0 ||
        (r = add_match(bus, "arg0path", below, on_event, screen)) < 0 ||
        (r = sd_bus_add_match(bus, NULL,
                              "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                              "member='NameOwnerChanged',arg0='" ROUTER "'",
                              on_owner_changed, screen)) < 0 ||
        /* The bus starts notifyd if it can; either way its owner follows. */
        (r = sd_bus_call_method_async(bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                      "org.freedesktop.DBus", "StartServiceByName", NULL, NULL, "su", ROUTER, 0)) < 0 ||
        (r = sd_bus_call_method_async(bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                      "org.freedesktop.DBus", "GetNameOwner", on_owner, screen, "s", ROUTER)) < 0)
        return r;
    for (;;) {
        r = sd_bus_process(bus, NULL);
        if (r == 0)
            r = sd_bus_wait(bus, UINT64_MAX);
        if (r < 0 && r != -EINTR)
            return r;
    }
}

int main(int count, char **arguments) {
    static struct screen screen;
    long pause = 50; /* milliseconds */
    sd_bus *bus;
    int r;

    if (count != 2) {
        fprintf(stderr, "usage: %s POST\n", arguments[0]);
        return 64;
    }
    if (snprintf(screen.topic, sizeof screen.topic, "/post/%s", arguments[1]) >= (int)sizeof screen.topic ||
        strchr(arguments[1], '\'')) {
        fprintf(stderr, "%s is not the id of a post\n", arguments[1]);
        return 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (;;) {
        /* sd_bus_open_user() uses $DBUS_SESSION_BUS_ADDRESS, else the bus of the user. */
        r = sd_bus_open_user(&bus);
        if (r >= 0) {
            pause = 50;
            r = run(bus, &screen);
            sd_bus_close_unref(bus);
        }
        fprintf(stderr, "the bus is gone: %s\n", strerror(-r));
        nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000}, NULL);
        pause = pause < 5000 ? pause * 2 : 10000;
    }
}

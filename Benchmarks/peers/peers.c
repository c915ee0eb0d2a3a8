/* Publishes messages to notifyd or to one of its peers, hears them in a second process, and prints figures as JSON.
 *
 *     peers SYSTEM load SECONDS          up to 64 messages are published and not yet acknowledged
 *     peers SYSTEM pace RATE SECONDS     RATE messages a second
 *     peers SYSTEM last FIRST FILE       500 a second until the server is gone; FILE gets the numbers that it has
 *                                        acknowledged, which begin with FIRST
 *     peers SYSTEM read FILE             FILE gets the numbers that the server has kept
 *
 * SYSTEM is dbus (the session bus, and a router with the methods of notifyd), mqtt, nats or redis; all but the first
 * listen on $PORT of this machine. Each is called through the C library that its programs would use.
 */
#define _GNU_SOURCE
#include <hiredis/hiredis.h>
#include <mosquitto.h>
#include <nats/nats.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#define HOST "127.0.0.1"
#define ROUTER "org.notifyd.Router1"
#define ROUTER_PATH "/org/notifyd/Router1"

enum { SIZE = 200, IN_FLIGHT = 64, MOST = 4000000, SAMPLES = 1000000, SECOND = 1000000000 };
/* The rate of "last", and so long nothing more has come when all has been read. */
enum { LAST_RATE = 500, READ_PAUSE = 1500 };

/* What the subscriber, which is a process of its own, tells the publisher. */
static struct report {
    _Atomic bool is_ready;
    _Atomic uint64_t heard, last;
    uint32_t microseconds[SAMPLES];
} *report;

static struct {
    uint64_t sent, answered, refused, first, last;
    bool is_gone;
    bool *is_acknowledged;
} publisher;

static FILE *output;
static int port;

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + time.tv_nsec;
}

/* --- What every system calls */

static void heard(const char *text) {
    uint64_t moment = now(), sent = strtoull(text, NULL, 10), number = report->heard++;
    report->last = moment;
    if (output)
        fprintf(output, "%llu\n", strtoull(text + 21, NULL, 10));
    else if (number < SAMPLES)
        report->microseconds[number] = (moment - sent) / 1000;
}

static void answered(uint64_t number, bool is_acknowledged) {
    publisher.last = now();
    publisher.answered++;
    if (is_acknowledged)
        publisher.is_acknowledged[number] = true;
    else
        publisher.refused++;
}

/* Waits until something can be read from (or, if asked, written to) a socket. */
static bool ready(int socket, short events, uint64_t until) {
    uint64_t moment = now(), left = until > moment ? until - moment : 0;
    struct timespec time = {left / SECOND, left % SECOND};
    struct pollfd file = {socket, events, 0};
    return ppoll(&file, 1, &time, NULL) > 0;
}

/* --- D-Bus */

static sd_bus *bus;

static void bus_open(void) {
    const char *name;
    if (sd_bus_new(&bus) < 0 || sd_bus_set_address(bus, getenv("DBUS_SESSION_BUS_ADDRESS")) < 0 ||
        sd_bus_set_bus_client(bus, true) < 0 || sd_bus_start(bus) < 0 || sd_bus_get_unique_name(bus, &name) < 0)
        fail("The bus cannot be reached.");
}

static int bus_reply(sd_bus_message *reply, void *number, sd_bus_error *unused) {
    bool is_error = sd_bus_message_is_method_error(reply, NULL);
    if (is_error && (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NO_REPLY) ||
                     sd_bus_message_is_method_error(reply, SD_BUS_ERROR_SERVICE_UNKNOWN)))
        publisher.is_gone = true;
    answered((uintptr_t)number, !is_error);
    return 0;
}

static void bus_publish(uint64_t number, const char *text) {
    void *data = (void *)(uintptr_t)number;
    if (sd_bus_call_method_async(bus, NULL, ROUTER, ROUTER_PATH, ROUTER, "Send", bus_reply, data, "sss", "/peers/a",
                                 "title", text) < 0)
        publisher.is_gone = true;
}

static void bus_turn(uint64_t until) {
    int result, count = 0;
    do {
        while ((result = sd_bus_process(bus, NULL)) > 0)
            count++;
    } while (result == 0 && count == 0 && ready(sd_bus_get_fd(bus), sd_bus_get_events(bus), until));
    if (result < 0)
        publisher.is_gone = true;
}

static int bus_event(sd_bus_message *signal, void *unused, sd_bus_error *error) {
    const char *topic, *title, *text;
    uint64_t id;
    if (sd_bus_message_read(signal, "stss", &topic, &id, &title, &text) >= 0)
        heard(text);
    return 0;
}

static void bus_hear(void) {
    bus_open();
    if (sd_bus_match_signal(bus, NULL, NULL, NULL, ROUTER, "Event", bus_event, NULL) < 0)
        fail("The bus takes no match.");
    int result = 0;
    for (report->is_ready = true; result >= 0;) {
        while ((result = sd_bus_process(bus, NULL)) > 0) {}
        sd_bus_wait(bus, UINT64_MAX);
    }
}

static void bus_read(void) {
    uint64_t last = 0;
    const char *topic, *title, *text;
    bus_open();
    for (bool is_over = false; !is_over;) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *page;
        if (sd_bus_call_method(bus, ROUTER, ROUTER_PATH, ROUTER, "History", &error, &page, "stu", "/peers", last,
                               1000) < 0)
            fail(error.message);
        sd_bus_message_enter_container(page, 'a', "(tsssxsa{sv})");
        is_over = true;
        while (sd_bus_message_enter_container(page, 'r', "tsssxsa{sv}") > 0) {
            sd_bus_message_read(page, "tsss", &last, &topic, &title, &text);
            sd_bus_message_skip(page, "xsa{sv}");
            sd_bus_message_exit_container(page);
            heard(text);
            is_over = false;
        }
        sd_bus_message_unref(page);
        /* notifyd waits for who has read much, and asks by Ping, which is not answered while a call waits. */
        while (sd_bus_process(bus, NULL) > 0) {}
    }
}

/* --- MQTT */

static struct mosquitto *client;
static uint64_t number_of[1 << 16];
static bool is_connected, is_subscribed;

static void mqtt_connected(struct mosquitto *unused, void *data, int code) { is_connected = true; }
static void mqtt_subscribed(struct mosquitto *unused, void *data, int id, int count, const int *qos) {
    is_subscribed = true;
}
static void mqtt_acknowledged(struct mosquitto *unused, void *data, int id) { answered(number_of[id & 0xFFFF], true); }
static void mqtt_message(struct mosquitto *unused, void *data, const struct mosquitto_message *message) {
    heard(message->payload);
}

static void mqtt_open_as(const char *name, bool is_clean) {
    mosquitto_lib_init();
    client = mosquitto_new(name, is_clean, NULL);
    mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_max_inflight_messages_set(client, 0);
    mosquitto_connect_callback_set(client, mqtt_connected);
    mosquitto_subscribe_callback_set(client, mqtt_subscribed);
    mosquitto_publish_callback_set(client, mqtt_acknowledged);
    mosquitto_message_callback_set(client, mqtt_message);
    if (mosquitto_connect(client, HOST, port, 60))
        fail("The broker cannot be reached.");
    while (!is_connected)
        mosquitto_loop(client, 100, 1);
}

static void mqtt_open(void) { mqtt_open_as("publisher", true); }

static void mqtt_publish(uint64_t number, const char *text) {
    int id = 0;
    if (mosquitto_publish(client, &id, "peers", SIZE, text, 1, false))
        publisher.is_gone = true;
    number_of[id & 0xFFFF] = number;
}

static void mqtt_turn(uint64_t until) {
    short events = POLLIN | (mosquitto_want_write(client) ? POLLOUT : 0);
    if (ready(mosquitto_socket(client), events, until) &&
        (mosquitto_loop_read(client, 1) || (mosquitto_want_write(client) && mosquitto_loop_write(client, 1))))
        publisher.is_gone = true;
    mosquitto_loop_misc(client);
}

/* A session that is kept, so that the broker has to keep its messages. */
static void mqtt_subscribe(void) {
    mqtt_open_as("subscriber", false);
    mosquitto_subscribe(client, NULL, "peers", 1);
    while (!is_subscribed)
        mosquitto_loop(client, 100, 1);
    report->is_ready = true;
}

static void mqtt_hear(void) {
    mqtt_subscribe();
    while (!mosquitto_loop(client, 100, 1)) {}
}

static void mqtt_read(void) {
    mqtt_subscribe();
    report->last = now();
    while (now() < report->last + READ_PAUSE * 1000000ull && !mosquitto_loop(client, 50, 1)) {}
    mosquitto_disconnect(client);
    mosquitto_loop(client, 10, 1);
}

/* --- NATS, with JetStream */

static natsConnection *connection;
static natsSubscription *answers;
static jsCtx *stream;

static void nats_open(void) {
    natsOptions *options;
    jsStreamConfig config;
    char address[64];
    snprintf(address, sizeof address, "nats://%s:%d", HOST, port);
    natsOptions_Create(&options);
    natsOptions_SetURL(options, address);
    natsOptions_SetAllowReconnect(options, false);
    /* Otherwise a message waits a millisecond for others. */
    natsOptions_SetSendAsap(options, true);
    jsStreamConfig_Init(&config);
    config.Name = "P";
    config.Subjects = (const char *[]){"peers"};
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    if (natsConnection_Connect(&connection, options) != NATS_OK ||
        natsConnection_JetStream(&stream, connection, NULL) != NATS_OK)
        fail("The server cannot be reached.");
    js_AddStream(NULL, stream, &config, NULL, NULL);
    if (natsConnection_SubscribeSync(&answers, connection, "answer.*") != NATS_OK)
        fail("The server takes no subscription.");
    natsSubscription_SetPendingLimits(answers, -1, -1);
}

/* As js_PublishAsync does it, which reports only failures. */
static void nats_publish(uint64_t number, const char *text) {
    char answer[32];
    snprintf(answer, sizeof answer, "answer.%llu", (unsigned long long)number);
    if (natsConnection_PublishRequest(connection, "peers", answer, text, SIZE) != NATS_OK)
        publisher.is_gone = true;
}

static void nats_turn(uint64_t until) {
    natsMsg *message;
    uint64_t moment = now(), left = until > moment ? until - moment : 0;
    natsStatus status = natsSubscription_NextMsg(&message, answers, left / 1000000);
    if (status == NATS_TIMEOUT) {
        ready(-1, 0, until);
        return;
    }
    for (; status == NATS_OK; status = natsSubscription_NextMsg(&message, answers, 0)) {
        answered(strtoull(natsMsg_GetSubject(message) + strlen("answer."), NULL, 10),
                 !strstr(natsMsg_GetData(message), "\"error\""));
        natsMsg_Destroy(message);
    }
    if (status != NATS_TIMEOUT)
        publisher.is_gone = true;
}

static void nats_follow(jsDeliverPolicy policy, int64_t pause) {
    natsSubscription *messages;
    natsMsg *message;
    jsSubOptions options;
    nats_open();
    jsSubOptions_Init(&options);
    options.Config.DeliverPolicy = policy;
    options.Config.AckPolicy = js_AckNone;
    if (js_SubscribeSync(&messages, stream, "peers", NULL, &options, NULL) != NATS_OK)
        fail("The stream takes no subscription.");
    natsSubscription_SetPendingLimits(messages, -1, -1);
    report->is_ready = true;
    while (natsSubscription_NextMsg(&message, messages, pause) == NATS_OK) {
        heard(natsMsg_GetData(message));
        natsMsg_Destroy(message);
    }
}

static void nats_hear(void) { nats_follow(js_DeliverNew, 3600000); }
static void nats_read(void) { nats_follow(js_DeliverAll, READ_PAUSE); }

/* --- Redis Streams */

static redisContext *redis;
static uint64_t next_answer;

static void redis_open(void) {
    redis = redisConnect(HOST, port);
    if (!redis || redis->err)
        fail("Redis cannot be reached.");
}

static void redis_publish(uint64_t number, const char *text) {
    redisAppendCommand(redis, "XADD peers * m %b", text, (size_t)SIZE);
}

/* What was published in one turn leaves together. */
static void redis_turn(uint64_t until) {
    redisReply *reply = NULL;
    int is_done = 0;
    while (!is_done && redisBufferWrite(redis, &is_done) == REDIS_OK) {}
    if (ready(redis->fd, POLLIN, until) && redisBufferRead(redis) == REDIS_OK)
        while (redisGetReplyFromReader(redis, (void **)&reply) == REDIS_OK && reply) {
            answered(next_answer++, reply->type == REDIS_REPLY_STRING);
            freeReplyObject(reply);
        }
    if (redis->err)
        publisher.is_gone = true;
}

static void redis_follow(int pause) {
    char last[64] = "0-0";
    redis_open();
    if (!output)
        freeReplyObject(redisCommand(redis, "DEL peers"));
    for (report->is_ready = true;;) {
        redisReply *reply = redisCommand(redis, "XREAD COUNT 1000 BLOCK %d STREAMS peers %s", pause, last);
        if (!reply || reply->type == REDIS_REPLY_ERROR)
            return;
        if (reply->type == REDIS_REPLY_NIL && output)
            return;
        /* One stream: its name, and its entries, each an id and its fields. */
        for (size_t index = 0; reply->elements == 1 && index < reply->element[0]->element[1]->elements; index++) {
            redisReply *entry = reply->element[0]->element[1]->element[index];
            heard(entry->element[1]->element[1]->str);
            snprintf(last, sizeof last, "%s", entry->element[0]->str);
        }
        freeReplyObject(reply);
    }
}

static void redis_hear(void) { redis_follow(1000); }
static void redis_read(void) { redis_follow(READ_PAUSE); }

/* --- The measurement */

static const struct system {
    const char *name;
    void (*open)(void);
    void (*publish)(uint64_t number, const char *text);
    /* Handles what has come, or waits until a moment that something comes. */
    void (*turn)(uint64_t until);
    void (*hear)(void), (*read)(void);
} systems[] = {
    {"dbus", bus_open, bus_publish, bus_turn, bus_hear, bus_read},
    {"mqtt", mqtt_open, mqtt_publish, mqtt_turn, mqtt_hear, mqtt_read},
    {"nats", nats_open, nats_publish, nats_turn, nats_hear, nats_read},
    {"redis", redis_open, redis_publish, redis_turn, redis_hear, redis_read},
};

/* Publishes until `end` or until the server is gone: as soon as fewer than 64 wait, or at a rate. */
static void publish(const struct system *system, double rate, uint64_t end) {
    char text[SIZE + 1];
    uint64_t start = now(), moment;
    while ((moment = now()) < end && !publisher.is_gone && publisher.sent < MOST) {
        uint64_t due = rate > 0 ? start + (uint64_t)(publisher.sent * (SECOND / rate)) : moment;
        if (moment < due || publisher.sent - publisher.answered >= IN_FLIGHT) {
            system->turn(moment < due ? due : moment + SECOND / 1000);
            continue;
        }
        memset(text, 'x', SIZE);
        text[SIZE] = 0;
        /* Over its terminator. */
        text[snprintf(text, SIZE, "%020llu %012llu ", (unsigned long long)moment,
                      (unsigned long long)(publisher.first + publisher.sent))] = 'x';
        system->publish(publisher.sent++, text);
    }
    for (end = now() + 3ull * SECOND; publisher.answered < publisher.sent && !publisher.is_gone && now() < end;)
        system->turn(now() + SECOND / 1000);
}

static int compare(const void *one, const void *other) {
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

int main(int count, char **words) {
    const struct system *system = NULL;
    const char *mode = count > 2 ? words[2] : "";
    for (size_t index = 0; count > 2 && index < sizeof systems / sizeof *systems; index++)
        if (!strcmp(words[1], systems[index].name))
            system = &systems[index];
    bool is_load = !strcmp(mode, "load"), is_pace = !strcmp(mode, "pace"), is_read = !strcmp(mode, "read");
    if (!system || count != (is_load || is_read ? 4 : 5))
        fail("See the head of peers.c.");
    port = getenv("PORT") ? atoi(getenv("PORT")) : 0;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1);
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    publisher.is_acknowledged = calloc(MOST, sizeof(bool));
    if (!is_load && !is_pace && !(output = fopen(words[count - 1], "w")))
        fail("The file cannot be written.");

    if (is_read) {
        system->read();
        return fclose(output);
    }
    if (output) {
        publisher.first = strtoull(words[3], NULL, 10);
        system->open();
        publish(system, LAST_RATE, now() + 30ull * SECOND);
        for (uint64_t number = 0; number < publisher.sent; number++)
            if (publisher.is_acknowledged[number])
                fprintf(output, "%llu\n", (unsigned long long)(publisher.first + number));
        return fclose(output);
    }

    pid_t subscriber = fork();
    if (subscriber == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        system->hear();
        return 1;
    }
    for (int tries = 0; !report->is_ready; tries++) {
        if (tries == 2000)
            fail("There is no subscriber.");
        usleep(5000);
    }
    usleep(200000);
    system->open();
    uint64_t start = now();
    publish(system, is_pace ? atof(words[3]) : 0, start + (uint64_t)(atof(words[count - 1]) * SECOND));
    for (uint64_t end = now() + 3ull * SECOND; report->heard < publisher.sent && now() < end;)
        usleep(1000);
    kill(subscriber, SIGKILL);
    waitpid(subscriber, NULL, 0);
    /* The session of an earlier subscriber may have left messages. */
    uint64_t heard = report->heard < publisher.sent ? report->heard : publisher.sent;
    uint64_t samples = heard < SAMPLES ? heard : SAMPLES;
    uint64_t end = report->last > publisher.last ? report->last : publisher.last;
    qsort(report->microseconds, samples, sizeof *report->microseconds, compare);
    printf("{\"sent\": %llu, \"answered\": %llu, \"refused\": %llu, \"heard\": %llu, ",
           (unsigned long long)publisher.sent, (unsigned long long)publisher.answered,
           (unsigned long long)publisher.refused, (unsigned long long)heard);
    printf("\"per_s\": %.1f, \"p50\": %u, \"p99\": %u}\n", heard * (double)SECOND / (end - start),
           report->microseconds[samples / 2], report->microseconds[samples * 99 / 100]);
    return 0;
}

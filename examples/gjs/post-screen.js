#!/usr/bin/gjs
// Stands for a window that shows a post: events about it are printed here and get no banner (GJS).
//
//     post-screen.js 27
//
// It survives restarts of notifyd and of the bus: then the screen is opened again, and events that were published
// meanwhile are printed as well. Needs the Debian package gjs.

const {Gio, GLib} = imports.gi;

const ROUTER = 'org.notifyd.Router1';
const PATH = '/org/notifyd/Router1';

class PostScreen {
    constructor(topic) {
        this.topic = topic;
        this.cursor = null; // the last event that was printed
        this.daemon = 0; // counts the daemons, to tell late answers of a former one
        this.pause = 50; // milliseconds
        this.connect();
    }

    // The bus

    connect() {
        // A connection of its own: the one of Gio.bus_get() ends this program when it is lost.
        const flags = Gio.DBusConnectionFlags;
        const address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SESSION, null);
        Gio.DBusConnection.new_for_address(
            address, flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION, null, null, (source, result) => {
                try {
                    this.bus = Gio.DBusConnection.new_for_address_finish(result);
                } catch (error) {
                    this.reconnect();
                    return;
                }
                this.pause = 50;
                this.bus.connect('closed', () => this.reconnect());
                this.watch();
            });
    }

    reconnect() {
        this.daemon += 1;
        if (this.watcher)
            Gio.bus_unwatch_name(this.watcher);
        this.watcher = 0;
        printerr('the bus is gone');
        GLib.timeout_add(GLib.PRIORITY_DEFAULT, this.pause, () => {
            this.connect();
            return GLib.SOURCE_REMOVE;
        });
        this.pause = Math.min(this.pause * 2, 10000);
    }

    watch() {
        // The topic, and what is below it. The bus filters. Subscribe first, and ask then.
        const {NONE, MATCH_ARG0_PATH} = Gio.DBusSignalFlags;
        for (const [filter, kind] of [[this.topic, NONE], [`${this.topic}/`, MATCH_ARG0_PATH]])
            this.bus.signal_subscribe(ROUTER, ROUTER, 'Event', PATH, filter, kind, () => this.readNews());
        // It calls at once if there is a daemon, and after each restart. The screen lives as long as the daemon.
        this.watcher = Gio.bus_watch_name_on_connection(this.bus, ROUTER, Gio.BusNameWatcherFlags.AUTO_START,
            () => this.onAppeared(), () => (this.daemon += 1));
    }

    async onAppeared() {
        this.daemon += 1;
        this.isReading = this.isBehind = false;
        this.readNews();
        try {
            await this.call('OpenScreen', new GLib.Variant('(sa{sv})', [this.topic, {}]));
            printerr('the screen is open');
        } catch (error) {
            printerr(`OpenScreen: ${error.message}`);
        }
    }

    // A signal says that there is news, and the journal says what. So no event is missed, and none comes twice.
    async readNews() {
        this.isBehind = this.isReading;
        if (this.isReading)
            return;
        this.isReading = true;
        const daemon = this.daemon;
        try {
            // The first time it prints only what comes from now on.
            if (this.cursor === null) {
                [this.cursor] = await this.call('Snapshot', new GLib.Variant('(s)', [this.topic]));
                printerr('listening');
            }
            for (;;) {
                const page = await this.call('History', new GLib.Variant('(stu)', [this.topic, this.cursor, 100]));
                // The next daemon has been asked already.
                if (daemon !== this.daemon)
                    return;
                const [events] = page;
                for (const [id, topic, title, body] of events) {
                    // Anybody may have written it: what a terminal would obey is left out.
                    print(...[topic, title, body].map(text => text.replace(/\p{Cc}/gu, '')));
                    this.cursor = id;
                }
                // A page may be short and not be the last.
                if (events.length === 0 && !this.isBehind)
                    break;
                this.isBehind = false;
            }
        } catch (error) {
            // The next signal, or the next daemon, asks again.
            printerr(`reading: ${error.message}`);
        }
        if (daemon === this.daemon)
            this.isReading = false;
    }

    call(method, argument) {
        return new Promise((resolve, reject) => {
            this.bus.call(ROUTER, PATH, ROUTER, method, argument, null, Gio.DBusCallFlags.NONE, -1, null,
                (bus, result) => {
                    try {
                        resolve(bus.call_finish(result).recursiveUnpack());
                    } catch (error) {
                        reject(error);
                    }
                });
        });
    }
}

if (ARGV.length !== 1) {
    printerr('usage: post-screen.js POST');
    imports.system.exit(64);
}
const screen = new PostScreen(`/post/${ARGV[0]}`);
GLib.MainLoop.new(null, false).run();

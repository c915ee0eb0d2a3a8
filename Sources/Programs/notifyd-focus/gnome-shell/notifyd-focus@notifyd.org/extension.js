// Tells notifyd-focus which windows there are: notifyd-focus(8). For GNOME Shell 45 and later; classic.sed makes the form for
// 43 and 44 of it.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import {Extension} from 'resource:///org/gnome/shell/extensions/extension.js';

const NAME = 'org.notifyd.Focus1';
const PATH = '/org/notifyd/Focus1';
const INTERFACE = 'org.notifyd.FocusSource1';

export default class NotifydFocus extends Extension {
    enable() {
        // What was told about each window; null while nobody listens.
        this._told = null;
        this._windows = new Map();
        this._display = [
            global.display.connect('window-created', (_display, window) => this._add(window)),
            global.display.connect('notify::focus-window', () => this._tellAll()),
        ];
        this._workspaces = global.workspace_manager.connect('active-workspace-changed', () => this._tellAll());
        for (const actor of global.get_window_actors())
            this._add(actor.meta_window);
        this._signal = Gio.DBus.session.signal_subscribe(
            NAME, INTERFACE, 'Wanted', PATH, null, Gio.DBusSignalFlags.NONE, () => this._begin());
        this._watch = Gio.bus_watch_name_on_connection(
            Gio.DBus.session, NAME, Gio.BusNameWatcherFlags.NONE, () => this._begin(), () => (this._told = null));
    }

    disable() {
        Gio.bus_unwatch_name(this._watch);
        Gio.DBus.session.signal_unsubscribe(this._signal);
        global.workspace_manager.disconnect(this._workspaces);
        for (const handler of this._display)
            global.display.disconnect(handler);
        for (const [window, handlers] of this._windows)
            handlers.forEach(handler => window.disconnect(handler));
        this._windows.clear();
        if (this._told)
            this._call('End', null);
        this._told = null;
    }

    _call(method, parameters) {
        // Without a callback no reply is asked for.
        Gio.DBus.session.call(
            NAME, PATH, INTERFACE, method, parameters, null, Gio.DBusCallFlags.NO_AUTO_START, -1, null, null);
    }

    _begin() {
        this._told = new Map();
        this._call('Begin', null);
        this._tellAll();
    }

    _add(window) {
        if (window.is_override_redirect() || this._windows.has(window))
            return;
        const signals = ['notify::title', 'notify::wm-class', 'notify::minimized', 'workspace-changed'];
        const handlers = signals.map(signal => window.connect(signal, () => this._tell(window)));
        handlers.push(window.connect('unmanaged', () => this._remove(window)));
        this._windows.set(window, handlers);
        this._tell(window);
    }

    _remove(window) {
        (this._windows.get(window) ?? []).forEach(handler => window.disconnect(handler));
        this._windows.delete(window);
        if (this._told?.delete(window))
            this._call('Gone', new GLib.Variant('(s)', [`${window.get_id()}`]));
    }

    // The focused window first: then no other is taken for it in between.
    _tellAll() {
        const focused = global.display.focus_window;
        if (this._windows.has(focused))
            this._tell(focused);
        for (const window of this._windows.keys())
            this._tell(window);
    }

    _tell(window) {
        if (!this._told)
            return;
        const workspace = global.workspace_manager.get_active_workspace();
        const facts = [
            `${window.get_id()}`, window.get_wm_class() ?? '', window.get_wm_class_instance() ?? '',
            (window.get_title() ?? '').slice(0, 1024), window === global.display.focus_window,
            !window.minimized && window.located_on_workspace(workspace),
        ];
        const text = JSON.stringify(facts);
        if (this._told.get(window) === text)
            return;
        this._told.set(window, text);
        this._call('Window', new GLib.Variant('(ssssbb)', facts));
    }
}

// Tells the host which tabs are in front, and shows what it answers; notifyd-browser(8).
//
// Nothing is stored, and nothing is sent but to the host. A browser may end this script while nothing happens and start it again:
// then all of it runs again, and finds out again what it knew.
"use strict";

const api = globalThis.browser ?? globalThis.chrome;
const HOST = "org.notifyd.browser";
// The host passes over messages of more than 64 KiB.
const LONGEST_MESSAGE = 60000;
const LONGEST_ADDRESS = 8192;
const FIRST_PAUSE = 1000;
const LAST_PAUSE = 300000;
// Milliseconds after an event before the windows are looked at.
const LOOK_PAUSE = 50;

let port = null;
// Why there is no host.
let failure = null;
// What the host has told last.
let report = null;
// What was sent last, as text.
let sent = null;
// Milliseconds before the next attempt to start the host.
let pause = FIRST_PAUSE;
// What pages say by themselves, by tab: their topic, and the origin that said it.
const topics = new Map();

// MARK: The host

function connect() {
    if (port) return;
    port = api.runtime.connectNative(HOST);
    port.onMessage.addListener((message) => {
        report = message;
        failure = null;
        pause = FIRST_PAUSE;
        show();
    });
    port.onDisconnect.addListener((ended) => {
        failure = api.runtime.lastError?.message ?? ended.error?.message ?? "it has ended";
        port = report = sent = null;
        show();
        connectLater();
    });
    look();
}

function connectLater() {
    // A timer ends with this script, which is ended after 30 seconds without an event.
    if (pause < 30000) setTimeout(connect, pause);
    else api.alarms.create("connect", { delayInMinutes: pause / 60000 });
    pause = Math.min(2 * pause, LAST_PAUSE);
}

api.alarms.onAlarm.addListener(connect);

// Sends the tabs, unless they are not known (null) or were sent last.
function send(tabs) {
    if (!port || !tabs) return;
    const message = { version: 1, tabs };
    const text = JSON.stringify(message);
    if (text === sent) return;
    sent = text;
    port.postMessage(message);
}

// MARK: The tabs

// The windows, each with the tab in front of it: as the last look has found them, and as events have changed them since.
let windows = new Map();
// The addresses of tabs that load nothing.
const addresses = new Map();
let isLooking = false;
let hasChanged = false;
// What events have told since the last look began.
let changes = [];

let laterLook = null;

// Takes over what an event tells, and sends it at once. Whether it is so is looked at later: browsers take long to answer, and
// until they have, the message waits in them, or the next event does.
// change() returns whether the event has told all that it means.
function take(change) {
    const isAll = change();
    if (isLooking) changes.push(change);
    const tabs = describe();
    send(tabs);
    if (isAll && tabs) lookLater();
    else look();
}

function lookLater() {
    laterLook ??= setTimeout(look, LOOK_PAUSE);
}

// Finds out what is in front. Of events that come meanwhile, only the last one is worth another look.
async function look() {
    clearTimeout(laterLook);
    laterLook = null;
    hasChanged = true;
    if (isLooking) return;
    isLooking = true;
    try {
        while (hasChanged) {
            hasChanged = false;
            changes = [];
            const [tabs, found] = await Promise.all([api.tabs.query({ active: true }), api.windows.getAll()]);
            windows = new Map(found.map(({ id, focused, state }) => [id, { focused, state, tab: null }]));
            for (const tab of tabs) {
                const window = windows.get(tab.windowId);
                if (window) window.tab = tab.id;
                remember(tab);
            }
            // The answers may be older than these.
            for (const change of changes) change();
            send(describe(new Map(tabs.map((tab) => [tab.id, tab.url ?? ""]))));
        }
    } finally {
        isLooking = false;
    }
}

function remember(tab) {
    if (tab.status === "complete") addresses.set(tab.id, tab.url ?? "");
    else addresses.delete(tab.id);
}

// The tabs in front as the host wants them, the focused one first, and no more than fit into a message.
// null if the address of one is neither known nor among the given ones: a look that finds it is under way or comes next.
function describe(found) {
    const described = [];
    for (const window of windows.values()) {
        const id = window.tab;
        if (id === null) continue;
        const address = addresses.get(id) ?? found?.get(id);
        if (address === undefined) return null;
        if (!/^https?:/.test(address) || address.length > LONGEST_ADDRESS || !address.isWellFormed()) continue;
        const entry = { id, address, focused: window.focused, visible: window.state !== "minimized" };
        const said = topics.get(id);
        if (said === undefined) ask(id);
        // What the page before has said does not count for another origin.
        else if (said.topic !== null && said.origin === new URL(address).origin) entry.topic = said.topic;
        described.push(entry);
    }
    described.sort((left, right) => right.focused - left.focused);
    let room = LONGEST_MESSAGE;
    return described.filter((entry) => {
        const length = longestJSON(entry);
        if (length > room) return false;
        room -= length;
        return true;
    });
}

// The bytes of a value in JSON, if the browser writes each character that is not plain as \u003c.
function longestJSON(value) {
    return JSON.stringify(value).replace(/[^ !#-%(-;=?-~]/g, "\\u003c").length;
}

// The topic that a page names, as a text that can be sent; an empty one is not a topic.
function wellFormed(topic) {
    if (typeof topic !== "string") return null;
    return topic.length <= 255 && topic.isWellFormed() ? topic : "";
}

// Has a page say its topic again. What is about to be sent to the host goes first.
async function ask(tab) {
    topics.set(tab, { topic: null, origin: null });
    await null;
    try {
        await api.tabs.sendMessage(tab, "say", { frameId: 0 });
    } catch {
        // There is no page.js in it: a page that was there before the extension, or one of the browser.
    }
}

for (const event of [api.tabs.onAttached, api.tabs.onDetached, api.windows.onCreated, api.windows.onRemoved]) {
    event.addListener(() => void look());
}

api.tabs.onActivated.addListener(({ tabId, windowId }) => take(() => {
    const window = windows.get(windowId);
    if (window) window.tab = tabId;
    return window !== undefined;
}));

// Nothing is taken from a loss of the focus: on the way from one window to another there is one too.
api.windows.onFocusChanged.addListener((focused) => take(() => {
    if (focused === api.windows.WINDOW_ID_NONE) return true;
    // Whether a window that was minimised still is, the event does not say.
    if ((windows.get(focused)?.state ?? "minimized") === "minimized") return false;
    for (const [id, window] of windows) window.focused = id === focused;
    return true;
}));

function forget(tab) {
    take(() => {
        topics.delete(tab);
        addresses.delete(tab);
        // Another tab comes in front, or a window is gone.
        return false;
    });
}

api.tabs.onRemoved.addListener((tab) => forget(tab));
api.tabs.onReplaced?.addListener((_, tab) => forget(tab));

api.tabs.onUpdated.addListener((id, { status, url }, tab) => {
    if (status === undefined && url === undefined) return;
    // Another document of the same origin may be one without page.js.
    if (status === "complete" && topics.get(id)?.topic) ask(id);
    take(() => {
        remember(tab);
        return true;
    });
});

api.runtime.onMessage.addListener((message, sender, reply) => {
    if (message === "report") {
        // The host looks at its rules whenever it gets a message.
        sent = null;
        look();
        reply({ failure, report });
    } else if (message === "look") {
        // With the events that come at the same moment.
        lookLater();
    } else if (sender.tab && sender.frameId === 0 && (sender.documentLifecycle ?? "active") === "active") {
        topics.set(sender.tab.id, { topic: wellFormed(message?.topic), origin: message?.origin ?? null });
        if (!sender.tab.active) return;
        send(describe());
        look();
    }
});

// MARK: The button

function show() {
    api.action.setBadgeText({ text: failure || report?.mistake ? "!" : "" });
    for (const tab of report?.tabs ?? []) {
        const text = tab.screen === "open" ? "●" : tab.asks || tab.mistaken ? "?" : null;
        api.action.setBadgeText({ tabId: tab.id, text }).catch(() => {
            // The tab is closed already.
        });
    }
    api.runtime.sendMessage({ failure, report }).catch(() => {
        // The popup is not open.
    });
}

connect();

// Tells background.js what the page says by itself, <meta name="notifyd-topic" content="/post/27"> in its head, and when to look
// at the windows again.
"use strict";

(() => {
    const api = globalThis.browser ?? globalThis.chrome;
    let said;

    function send(message) {
        try {
            api.runtime.sendMessage(message).catch(() => {
                // background.js asks again when it starts.
            });
        } catch {
            // The extension was removed or updated; its next version has a page.js of its own.
            observer.disconnect();
        }
    }

    function say(isAsked) {
        const content = document.head?.querySelector('meta[name="notifyd-topic"]')?.content ?? null;
        // A topic has 255 bytes at most; an empty text is none.
        const topic = content?.length > 255 ? "" : content;
        if (topic === said && !isAsked) return;
        said = topic;
        // A document in a sandbox is of no origin, whatever its address is.
        send({ topic, origin: globalThis.origin });
    }

    const observer = new MutationObserver(() => say(false));
    if (document.head) {
        observer.observe(document.head, {
            attributeFilter: ["content", "name"], attributes: true, childList: true, subtree: true,
        });
    }
    api.runtime.onMessage.addListener((message) => {
        if (message === "say") say(true);
    });
    // A page that comes back from the cache, or was loaded before it was wanted.
    addEventListener("pageshow", (event) => event.persisted && say(true));
    document.addEventListener("prerenderingchange", () => say(true));
    // No browser announces to extensions that a window is minimised, and Chromium does not announce the first loss of the focus.
    for (const change of ["blur", "focus"]) addEventListener(change, () => send("look"));
    document.addEventListener("visibilitychange", () => send("look"));
    say(true);
})();

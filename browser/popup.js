// What the tab shows, by which rule, and what to do where something is missing.
"use strict";

const api = globalThis.browser ?? globalThis.chrome;
const main = document.querySelector("main");
const sites = { origins: ["http://*/*", "https://*/*"] };

// Everything is put in as text: addresses and topics are those of strangers.
function add(element, text, style = "") {
    const node = document.createElement(element);
    node.textContent = text;
    node.className = style;
    main.append(node);
}

function show({ failure, report }, tab) {
    main.replaceChildren();
    if (failure) {
        add("p", `The program notifyd-browser does not run: ${failure}`, "wrong");
        add("p", "If it is installed, tell this browser of it:");
        return add("pre", "notifyctl browser install");
    }
    if (!report) return add("p", "notifyd-browser has not answered yet.");
    if (!report.notifyd) add("p", "notifyd does not run. Screens are opened when it does.", "wrong");
    if (report.mistake) add("p", `The rules have a mistake: ${report.mistake}`, "wrong");
    if (report.passed_over) {
        add("p", "notifyd-browser does not understand all that this extension sends; both should be of one version.", "wrong");
    }
    const told = report.tabs.find((each) => each.id === tab?.id);
    if (told?.topic) showTopic(told, report.notifyd);
    if (told?.asks) {
        add("p", `This page asks for ${told.asks}, which it may not name. To allow it:`);
        add("pre", told.lines);
    }
    if (told?.mistaken) add("p", "This page names something that is not a topic.");
    if (told && !told.topic && !told.asks) {
        add("p", "No rule fits this page. A rule for it, once you have filled in the topic:");
        add("pre", `[[site]]\naddress = "${tab.url.split(/[?#]/)[0]}"\ntopic = "/…"`);
    }
    if (!told) add("p", "This is not a page that can be a screen.");
    add("p", `Rules: ${report.file}, ${report.rules} in force`);
}

// In Firefox the user decides whether the extension may read pages.
async function offerSites() {
    const section = document.querySelector("section");
    section.hidden = await api.permissions.contains(sites);
    section.querySelector("button").addEventListener("click", async () => {
        section.hidden = await api.permissions.request(sites);
    });
}

function showTopic(told, isThere) {
    const states = {
        "open": `It is a screen of ${told.topic}: what comes there needs no banner.`,
        "opening": `It becomes a screen of ${told.topic}.`,
        "waiting": `It becomes a screen of ${told.topic} when notifyd runs.`,
        "refused": `It would be a screen of ${told.topic}, which notifyd refuses: ${told.reason}`,
    };
    const wanted = `It shows ${told.topic}, and is a screen of it while you look at it`;
    add("p", states[told.screen] ?? wanted + (isThere ? "." : ", once notifyd runs."));
    add("p", "By this rule:");
    add("pre", told.rule);
}

async function start() {
    const [tab] = await api.tabs.query({ active: true, currentWindow: true });
    api.runtime.onMessage.addListener((message) => {
        if ("report" in message) show(message, tab);
    });
    show(await api.runtime.sendMessage("report"), tab);
}

offerSites();
start();

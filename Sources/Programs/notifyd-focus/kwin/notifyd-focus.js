// Written by notifyd-focus(8), which tells KWin to load it.
const windows = workspace.windowList ? workspace.windowList() : workspace.clientList();
function call(...words) {
    callDBus("org.notifyd.Focus1", "/org/notifyd/Focus1", "org.notifyd.FocusSource1", ...words);
}
function active() {
    return workspace.activeWindow !== undefined ? workspace.activeWindow : workspace.activeClient;
}
function isHere(window) {
    if (window.onAllDesktops) return true;
    if (window.desktops !== undefined && workspace.windowList)
        return window.desktops.includes(workspace.currentDesktop);
    return window.desktop === workspace.currentDesktop;
}
function tell(window) {
    if (!window || window.deleted) return;
    call("Window", "" + window.internalId, "" + window.resourceClass, "" + window.resourceName,
         ("" + window.caption).slice(0, 1024), active() === window, !window.minimized && isHere(window));
}
function tellAll() {
    tell(active());
    for (const window of known) if (window !== active()) tell(window);
}
const known = [];
function add(window) {
    if (!window || known.indexOf(window) >= 0) return;
    known.push(window);
    const changes = ["captionChanged", "minimizedChanged", "desktopsChanged", "desktopChanged", "windowClassChanged"];
    for (const name of changes)
        if (window[name] && window[name].connect) window[name].connect(() => tell(window));
    tell(window);
}
function remove(window) {
    const place = known.indexOf(window);
    if (place < 0) return;
    known.splice(place, 1);
    call("Gone", "" + window.internalId);
}
call("Begin");
windows.forEach(add);
(workspace.windowAdded || workspace.clientAdded).connect(add);
(workspace.windowRemoved || workspace.clientRemoved).connect(remove);
(workspace.windowActivated || workspace.clientActivated).connect(tellAll);
workspace.currentDesktopChanged.connect(tellAll);
tellAll();

"""What the tabs of a real browser hold, for the rigs chromium.sh and firefox.sh.

browser-tabs.py chromium|firefox PRODUCTS EXTENSION: on the bus and the display of the environment.
"""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

import webdriver
from webdriver import eventually

ROUTER = ["org.notifyd.Router1", "/org/notifyd/Router1", "org.notifyd.Router1"]
HOST = "notifyd-browser"


class Pages(http.server.BaseHTTPRequestHandler):
    """Pages whose head is what the query says: ?topic=/post/1 is their meta tag. /sandbox is of no origin."""

    def do_GET(self):
        topic = self.path.partition("?topic=")[2]
        meta = f'<meta name="notifyd-topic" content="{topic}">' if topic else ""
        body = f"<!DOCTYPE html><html><head><title>page</title>{meta}</head><body>{self.path}</body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if self.path.startswith("/sandbox"):
            self.send_header("Content-Security-Policy", "sandbox allow-scripts")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Daemon:
    def __init__(self, products):
        self.program = products + "/notifyd"
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()


def busctl(*arguments):
    result = subprocess.run(
        ["busctl", "--user", "--json=short", *arguments], capture_output=True, text=True)
    return json.loads(result.stdout) if result.returncode == 0 else None


def screens():
    """The topics of all screens and their states; None without notifyd."""
    answer = busctl("--auto-start=no", "call", *ROUTER, "ListScreens")
    return answer and {screen[1]: screen[3] for screen in answer["data"][0]}


def hosts():
    """The processes of the host."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                program = file.read().split(b"\0")[0].decode()
            with open(f"/proc/{name}/environ", "rb") as file:
                is_ours = f"HOME={os.environ['HOME']}".encode() in file.read().split(b"\0")
        except OSError:
            continue
        if program.endswith("/" + HOST) and is_ours:
            found.append(int(name))
    return found


def another_window():
    """A window of another program, which gets the focus."""
    script = (
        "import gi; gi.require_version('Gtk', '4.0'); from gi.repository import Gtk\n"
        "app = Gtk.Application()\n"
        "app.connect('activate', lambda app: Gtk.ApplicationWindow(application=app).present())\n"
        "app.run()")
    return subprocess.Popen(
        ["/usr/bin/python3", "-c", script], stdin=subprocess.DEVNULL, stderr=open("window.log", "w"),
        env=os.environ | {"GDK_BACKEND": "x11", "GSK_RENDERER": "cairo"})


def main():
    kind, products, extension = sys.argv[1:]
    # One origin may name topics, and the other may not.
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    allowed, other = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
    with open(os.environ["XDG_CONFIG_HOME"] + "/notifyd/browser.toml", "w") as file:
        file.write(f'''
[[site]]
address = "{allowed}/posts/{{id}}"
topic = "/post/{{id}}"

[[site]]
address = "{allowed}/chat/**"
topic = "/chat"
state = "visible"

[[page]]
origin = "{allowed}"
topics = ["/article"]
''')
    daemon = Daemon(products)
    eventually("notifyd runs", lambda: screens() == {})
    browser = {"chromium": webdriver.Chromium, "firefox": webdriver.Firefox}[kind](extension, kind + ".log")
    try:
        check(browser, daemon, allowed, other)
    finally:
        browser.end()
        daemon.kill()


def check(browser, daemon, allowed, other):
    def holds(fact, *topics, state="focused"):
        eventually(fact, lambda: screens() == {topic: state for topic in topics})

    eventually("the browser starts the host", hosts)
    browser.navigate(allowed + "/posts/27")
    holds("the tab in front holds the screen of its address", "/post/27")
    first = browser.window()
    event = busctl("call", *ROUTER, "Send", "sss", "/post/27", "news", "")["data"][0]
    eventually("what it shows needs no banner", lambda: busctl(
        "call", *ROUTER, "Explain", "t", str(event))["data"][0].get("outcome", {}).get("data") == "claimed")

    second = browser.new_tab(allowed + "/posts/28?page=2#top")
    holds("another tab holds another screen", "/post/28")
    browser.select(first)
    holds("the first tab again the first", "/post/27")
    for tab in [second, first] * 5:
        browser.select(tab)
    holds("after quick switches the last tab counts", "/post/27")
    browser.run("history.pushState({}, '', '/posts/31')")
    holds("an address that a script pushes counts", "/post/31")
    browser.run("history.back()")
    holds("and so does the way back", "/post/27")

    window = another_window()
    holds("a window without the focus holds nothing")
    browser.navigate(allowed + "/chat/red")
    holds("unless being visible is enough", "/chat", state="visible")
    window.kill()
    window.wait()
    holds("with the focus it is focused", "/chat")

    browser.navigate(allowed + "/news?topic=/article/1")
    holds("a page says its topic by itself", "/article/1")
    browser.run("document.querySelector('meta').content = '/article/2'")
    holds("and may change it", "/article/2")
    browser.run("document.querySelector('meta').content = '/post/1'")
    holds("but not to one that its origin may not name")
    browser.run("document.head.innerHTML = '<meta name=notifyd-topic content=/article/3>'")
    holds("a head that is written again counts", "/article/3")
    browser.navigate(allowed + "/plain")
    holds("until the next page")
    browser.navigate(allowed + "/news?topic=/article/4")
    holds("another page says its topic", "/article/4")
    running = hosts()
    for wrong in ("'/article/' + String.fromCharCode(0xd83d)", "'/article/' + 'a'.repeat(70000)"):
        browser.run(f"document.querySelector('meta').content = {wrong}")
        holds("what is not text that can be sent is not a topic")
        browser.run("document.querySelector('meta').content = '/article/6'")
        holds("and what comes after it is", "/article/6")
    browser.navigate(allowed + "/sandbox?topic=/article/4")
    holds("a page in a sandbox does not speak for its address")
    if hosts() != running:
        raise SystemExit("FAILED: a page has ended the host")
    browser.navigate(allowed + "/news?topic=/article/4")
    holds("which it does without one", "/article/4")
    browser.navigate(other + "/news?topic=/article/4")
    holds("another origin may not name it")
    browser.select(second)
    holds("the other tab is as it was", "/post/28")

    # The driver of Chromium knows no private windows.
    if hasattr(browser, "new_private_window"):
        browser.new_private_window(allowed + "/posts/41")
        browser.navigate(allowed + "/news?topic=/article/5")
        holds("a private window holds nothing")
        browser.close()
        browser.select(second)
        holds("without it all is as before", "/post/28")

    daemon.kill()
    browser.select(first)
    browser.navigate(allowed + "/posts/32")
    daemon.start()
    holds("after a restart of notifyd the screens are opened again", "/post/32")

    for process in hosts():
        os.kill(process, signal.SIGKILL)
    holds("when the host is killed, its screens end")
    holds("the browser starts it again", "/post/32")

    # Firefox was told to end an idle script after half that time.
    before, until = hosts(), time.monotonic() + 6
    while time.monotonic() < until:
        if hosts() != before:
            raise SystemExit("FAILED: an idle extension lost its host")
        time.sleep(0.1)
    holds("an idle extension keeps its screens", "/post/32")
    if hasattr(browser, "stop_extension"):
        browser.stop_extension()
        eventually("without its script there is no host", lambda: not hosts())
        browser.navigate(allowed + "/posts/33")
        holds("a script that was ended comes back with the next change", "/post/33")
        browser.new_tab(browser.popup)
        eventually("its button says which rules are in force", lambda: "3 in force" in browser.run(
            "return document.body.textContent"))
        eventually("and cuts no long line of a rule off", lambda: browser.run(
            "const lines = document.querySelector('main').appendChild(document.createElement('pre'));"
            "lines.textContent = 'address = \"https://example.org/' + 'a-long-title/'.repeat(50) + '\"';"
            "return lines.scrollWidth <= lines.clientWidth"))

    browser.kill()
    holds("a killed browser leaves no screen")
    eventually("and no host", lambda: not hosts())


main()

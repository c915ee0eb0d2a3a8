"""Real browsers for a rig, by WebDriver: Chromium through its chromedriver, Firefox through Marionette.

https://www.w3.org/TR/webdriver2/ and https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

PATIENCE = float(os.environ.get("RIG_PATIENCE", "30"))


def eventually(fact, is_true):
    """Asks until it is true, and says so; the rig fails if it does not become true in time."""
    until = time.monotonic() + PATIENCE
    last = None
    while time.monotonic() < until:
        last = is_true()
        if last:
            print(f"ok: {fact}", flush=True)
            return last
        time.sleep(0.03)
    raise SystemExit(f"FAILED: {fact} (not within {PATIENCE:.0f} seconds)")


class Chromium:
    """A browser by the HTTP of chromedriver."""

    popup = "chrome-extension://mmbliaeknglnaipllidkjnfgomhncace/popup.html"

    def __init__(self, extension, log):
        self.profile = os.environ["XDG_CONFIG_HOME"] + "/chromium"
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        port = next(found.group(1) for line in self.driver.stdout if (found := re.search(r"port (\d+)\.$", line.strip())))
        # Not used up, the pipe would fill.
        subprocess.Popen(["cat"], stdin=self.driver.stdout, stdout=open(log, "w"))
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=120)
        arguments = [
            f"user-data-dir={self.profile}", f"load-extension={extension}",
            "disable-features=DisableLoadExtensionCommandLineSwitch", "no-first-run", "disable-gpu",
            "disable-dev-shm-usage", "no-default-browser-check", "enable-logging=stderr",
        ]
        if os.getuid() == 0:
            arguments.append("no-sandbox")
        options = {"binary": "/usr/bin/chromium", "args": arguments}
        answer = self.request(
            "POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "pageLoadStrategy": "eager", "goog:chromeOptions": options}}})
        self.session = "/session/" + answer["sessionId"]

    def request(self, method, path, body=None):
        text = None if method == "GET" else json.dumps(body or {})
        self.connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = json.loads(self.connection.getresponse().read())["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(answer["error"] + ": " + answer["message"])
        return answer

    def window(self):
        return self.request("GET", self.session + "/window")

    def new_tab(self, address):
        handle = self.request("POST", self.session + "/window/new", {"type": "tab"})["handle"]
        self.select(handle)
        self.navigate(address)
        return handle

    def select(self, handle):
        self.request("POST", self.session + "/window", {"handle": handle})
        self.request("POST", self.session + "/goog/cdp/execute", {"cmd": "Page.bringToFront", "params": {}})

    def navigate(self, address):
        self.request("POST", self.session + "/url", {"url": address})

    def run(self, script):
        return self.request("POST", self.session + "/execute/sync", {"script": script, "args": []})

    def stop_extension(self):
        """Ends the extension's script, as the browser does when nothing happens for long."""
        self.navigate("chrome://serviceworker-internals/")
        eventually("the extension's script can be stopped", lambda: self.run(
            "const stop = [...document.querySelectorAll('button, cr-button')]"
            ".filter((each) => each.textContent.trim() === 'Stop' && each.offsetParent);"
            "stop.forEach((each) => each.click()); return stop.length"))

    def kill(self):
        os.kill(int(os.readlink(self.profile + "/SingletonLock").rsplit("-", 1)[1]), signal.SIGKILL)

    def end(self):
        try:
            self.request("DELETE", self.session)
        except (RuntimeError, OSError):
            pass
        self.driver.kill()
        self.driver.wait()


class Firefox:
    """A browser by Marionette, which is JSON over TCP."""

    def __init__(self, extension, log):
        self.profile = os.environ["HOME"] + "/firefox"
        os.makedirs(self.profile)
        preferences = {
            # Those are for tests that share a screen; they make every window believe that it has the focus.
            "remote.prefs.recommended": False,
            "marionette.port": 0, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.firstRunURL": "",
            "browser.startup.homepage_override.mstone": "ignore", "browser.aboutwelcome.enabled": False,
            "toolkit.telemetry.reportingpolicy.firstRun": False, "app.update.disabledForTesting": True,
            "browser.tabs.warnOnClose": False, "startup.homepage_welcome_url": "",
            # A script of an extension is ended after this time without an event; usually 30 seconds.
            "extensions.background.idle.timeout": 3000,
        }
        with open(self.profile + "/user.js", "w") as file:
            for name, value in preferences.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.process = subprocess.Popen(
            ["firefox-esr", "--marionette", "--no-remote", "--profile", self.profile, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=open(log, "w"), stderr=subprocess.STDOUT)
        active = self.profile + "/MarionetteActivePort"
        eventually("Firefox listens", lambda: os.path.exists(active) and open(active).read())
        self.connection = socket.create_connection(("127.0.0.1", int(open(active).read())), timeout=120)
        self.stream = self.connection.makefile("rb")
        self.number = 0
        self.read()
        self.command("WebDriver:NewSession", {"pageLoadStrategy": "eager"})
        self.command("Addon:Install", {"path": extension, "temporary": True})

    def read(self):
        length = b""
        while (byte := self.stream.read(1)) != b":":
            length += byte
        return json.loads(self.stream.read(int(length)))

    def command(self, name, parameters=None):
        self.number += 1
        text = json.dumps([0, self.number, name, parameters or {}]).encode()
        self.connection.sendall(str(len(text)).encode() + b":" + text)
        _, _, error, result = self.read()
        if error:
            raise RuntimeError(error["error"] + ": " + error["message"])
        return result

    def window(self):
        return self.command("WebDriver:GetWindowHandle")["value"]

    def new_tab(self, address):
        handle = self.command("WebDriver:NewWindow", {"type": "tab", "focus": True})["handle"]
        self.select(handle)
        self.navigate(address)
        return handle

    def select(self, handle):
        self.command("WebDriver:SwitchToWindow", {"handle": handle, "focus": True})

    def navigate(self, address):
        self.command("WebDriver:Navigate", {"url": address})

    def new_private_window(self, address):
        options = {"type": "window", "focus": True, "private": True}
        self.select(self.command("WebDriver:NewWindow", options)["handle"])
        self.navigate(address)

    def close(self):
        self.command("WebDriver:CloseWindow")

    def run(self, script):
        return self.command("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def kill(self):
        self.process.kill()

    def end(self):
        self.process.kill()
        self.process.wait()

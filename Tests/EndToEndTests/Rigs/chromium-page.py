"""A page in Chromium that shows one notification, and stays until standard input ends.

    chromium-page.py TITLE EXTENSION
"""
import http.server
import os
import sys
import threading

import webdriver


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()


server = http.server.HTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
origin = f"http://127.0.0.1:{server.server_port}"
browser = webdriver.Chromium(sys.argv[2], os.environ["HOME"] + "/chromium.log")
try:
    browser.request("POST", browser.session + "/goog/cdp/execute", {
        "cmd": "Browser.grantPermissions", "params": {"permissions": ["notifications"], "origin": origin}})
    browser.navigate(origin)
    browser.run(f"window.letter = new Notification({sys.argv[1]!r})")
    sys.stdin.read()
finally:
    browser.end()

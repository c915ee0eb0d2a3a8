#!/usr/bin/python3
"""The site of docs/screenshot.sh: screenshot-site.py PORT-FILE. A line on standard input is a comment."""
import http.server
import os
import sys
import threading

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Post 27 – Trails</title>
<style>
  body { margin: 0; font: 16px Cantarell, sans-serif; color: #2e3436; background: #fff }
  header { padding: 14px 22px; background: #3d6b4f; color: #fff; font-weight: bold }
  article { padding: 4px 22px }
  h1 { font-size: 20px; margin: 14px 0 4px }
  p { margin: 4px 0; line-height: 1.35 }
  small { color: #777 }
  .comment { border-top: 1px solid #ddd; padding: 8px 0 4px; margin-top: 10px }
</style>
<header>Trails</header>
<article>
  <h1>Sunrise from the ridge</h1>
  <p>We left at four, and it was worth every step.</p>
  <small>Post 27 · 2 comments</small>
  <div class="comment"><b>Mina</b><p>The light on the snow!</p></div>
  <div id="news"></div>
</article>
<script>
  // The site has connections of its own, and shows a comment as it comes.
  new EventSource("/news").onmessage = (event) => {
    const [name, text] = event.data.split(": ");
    const comment = document.createElement("div");
    comment.className = "comment";
    comment.append(Object.assign(document.createElement("b"), { textContent: name }),
                   Object.assign(document.createElement("p"), { textContent: text }));
    document.getElementById("news").append(comment);
  };
</script>
""".encode()
comments = threading.Condition()
news = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        if self.path != "/news":
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(PAGE)
            return
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        told = 0
        while True:
            with comments:
                comments.wait_for(lambda: len(news) > told)
                told, new = len(news), news[told:]
            for text in new:
                self.wfile.write(f"data: {text}\n\n".encode())
            self.wfile.flush()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(sys.argv[1] + ".new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
for line in sys.stdin:
    with comments:
        news.append(line.rstrip("\n"))
        comments.notify_all()

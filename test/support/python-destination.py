"""A destination of Python's own http.server. It verifies each request by itself, fails the first
attempt of each event, and prints what it got as lines of JSON."""

import base64
import hashlib
import hmac
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["FORWARD_SECRET"].removeprefix("whsec_"))


def is_signed(headers, body):
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    given = headers["webhook-signature"].split(" ")
    return any(hmac.compare_digest(f"v1,{expected}", one) for one in given)


class Destination(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        attempt = int(self.headers["hookonce-attempt"])
        got = {
            "id": self.headers["webhook-id"],
            "signed": is_signed(self.headers, body),
            "attempt": attempt,
            "body": body.decode(),
        }
        # In one piece: print() writes the end of the line apart, and another thread may come between.
        sys.stdout.write(json.dumps(got) + "\n")
        sys.stdout.flush()
        self.send_response(500 if attempt == 1 else 204)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Destination)
print(json.dumps({"port": server.server_port}), flush=True)
sys.stdout.flush()
server.serve_forever()

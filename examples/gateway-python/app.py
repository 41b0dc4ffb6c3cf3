"""Records paid invoices that the hookonce gateway forwards. Needs Python 3.9 or later, and no packages."""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["FORWARD_SECRET"].removeprefix("whsec_"))
DATABASE = os.environ.get("APP_DATABASE", "app.sqlite")
TOLERANCE_SECONDS = 300


def connect():
    return closing(sqlite3.connect(DATABASE, timeout=10))


def create_tables():
    with connect() as database, database:
        database.execute("create table if not exists handled (webhook_id text primary key)")
        database.execute("create table if not exists payments (invoice text, amount integer)")


def is_genuine(headers, body):
    """Checks the signature of Standard Webhooks over the raw bytes."""
    sent_at = headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > TOLERANCE_SECONDS:
        return False
    signed = f"{headers.get('webhook-id')}.{sent_at}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    # Two signatures while the secret is rotated.
    return any(hmac.compare_digest(expected, given) for given in headers.get("webhook-signature", "").split())


def record_payment(webhook_id, event):
    """The webhook-id is the same on every attempt. It commits together with the payment."""
    invoice = event["data"]["object"]
    with connect() as database, database:
        new = database.execute("insert or ignore into handled values (?)", (webhook_id,)).rowcount
        if new:
            row = (invoice["id"], invoice.get("amount_paid", 0))
            database.execute("insert into payments values (?, ?)", row)
            print(f"payment: {row}", flush=True)


class App(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not is_genuine(self.headers, body):
            return self.answer(401, {"error": "the signature is wrong"})
        record_payment(self.headers["webhook-id"], json.loads(body))
        self.answer(200, {})

    def do_GET(self):
        with connect() as database:
            rows = database.execute("select invoice, amount from payments order by rowid").fetchall()
        self.answer(200, [{"invoice": invoice, "amount": amount} for invoice, amount in rows])

    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    create_tables()
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "5000"))), App)
    print(f"the app listens at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()

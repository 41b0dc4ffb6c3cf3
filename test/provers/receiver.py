"""A small receiver of Stripe events with one planted fault, for the tests of `hookonce prove`.

FAULT names the fault; without it the receiver is correct. Needs psycopg2 (Debian: python3-psycopg2).
"""

import hashlib
import hmac
import json
import os
import threading
import time
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2

FAULT = os.environ.get("FAULT", "none")
SECRET = os.environ["STRIPE_WEBHOOK_SECRET"].encode()
DOWNSTREAM = os.environ.get("DOWNSTREAM")
# memory-only: what this process has seen.
seen = set()
lock = threading.Lock()


def is_genuine(header, body):
    if FAULT == "unsigned-accepted":
        return True
    parts = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    date = parts.get("t", "0")
    if FAULT != "outdated-accepted" and abs(time.time() - int(date)) > 300:
        return False
    if FAULT == "no-raw-body":
        body = json.dumps(json.loads(body), separators=(",", ":")).encode()
    wanted = hmac.new(SECRET, date.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(wanted, parts.get("v1", ""))


def handle(event):
    """Correct: one transaction, one key for the call, no older version over a newer one."""
    with connection() as db:
        if mark(db, event["id"]):
            pay(db, event)
    call(event, "receipt-" + event["id"])


def mark_before(event):
    with connection() as db:
        if not mark(db, event["id"]):
            return
    with connection() as db:
        pay(db, event)
    call(event, "receipt-" + event["id"])


def mark_after(event):
    if is_marked(event["id"]):
        return
    with connection() as db:
        pay(db, event)
    with connection() as db:
        mark(db, event["id"])
    call(event, "receipt-" + event["id"])


def check_then_insert(event):
    if is_marked(event["id"]):
        return
    with connection() as db:
        pay(db, event)
        mark(db, event["id"])
    call(event, "receipt-" + event["id"])


def memory_only(event):
    with lock:
        if event["id"] in seen:
            return
        seen.add(event["id"])
    with connection() as db:
        pay(db, event)
    call(event, "receipt-" + event["id"])


def random_id(event):
    handle({**event, "id": str(uuid.uuid4())})


def stale_overwrite(event):
    with connection() as db:
        if mark(db, event["id"]):
            pay(db, {**event, "created": 2**53})
    call(event, "receipt-" + event["id"])


def prunes_by_date(event):
    with connection() as db, db.cursor() as cursor:
        cursor.execute("delete from seen where seen_at < now() - interval '1 day'")
    handle(event)


def effect_outside(event):
    with connection() as db:
        if mark(db, event["id"]):
            call(event, None)
            pay(db, event)


class connection:
    """A connection for one transaction: commits at the end, rolls back on an error."""

    def __enter__(self):
        self.db = psycopg2.connect(os.environ["DATABASE_URL"])
        return self.db

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.db.commit()
        self.db.close()


def mark(db, event_id):
    with db.cursor() as cursor:
        cursor.execute("insert into seen (event_id) values (%s) on conflict do nothing", (event_id,))
        return cursor.rowcount == 1


def is_marked(event_id):
    with connection() as db, db.cursor() as cursor:
        cursor.execute("select 1 from seen where event_id = %s", (event_id,))
        return cursor.rowcount == 1


def pay(db, event):
    invoice = event["data"]["object"]
    with db.cursor() as cursor:
        cursor.execute(
            """insert into invoice as i (id, amount, version) values (%s, %s, %s)
               on conflict (id) do update set amount = excluded.amount, version = excluded.version
               where i.version <= excluded.version""",
            (invoice["id"], invoice["amount_paid"], event["created"]),
        )
        cursor.execute("insert into payment (invoice_id) values (%s)", (invoice["id"],))


def call(event, key):
    if not DOWNSTREAM:
        return
    body = json.dumps({"invoice": event["data"]["object"]["id"]}).encode()
    request = urllib.request.Request(DOWNSTREAM + "/emails", body, {"content-type": "application/json"})
    if key:
        request.add_header("idempotency-key", key)
    urllib.request.urlopen(request).close()


FAULTS = {
    "mark-before": mark_before,
    "mark-after": mark_after,
    "check-then-insert": check_then_insert,
    "memory-only": memory_only,
    "random-id": random_id,
    "stale-overwrite": stale_overwrite,
    "prunes-by-date": prunes_by_date,
    "effect-outside": effect_outside,
}


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        status = 200
        if not is_genuine(self.headers.get("stripe-signature", ""), body):
            status = 401
        else:
            FAULTS.get(FAULT, handle)(json.loads(body))
        self.send_response(status)
        self.end_headers()

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()

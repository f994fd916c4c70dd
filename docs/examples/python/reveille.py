#!/usr/bin/env python3
"""A backend's side of Reveille in one file: sign, query, wake, read events, verify a webhook. Python 3.8, no packages.

    export API_ACCESS_KEY_ID=... API_SECRET_KEY=... API_APP_ID=...
    python3 reveille.py status DEVICE_ID
    python3 reveille.py wake DEVICE_ID [0x12ab]
    python3 reveille.py events [CURSOR]                        follows the log, a page a line, until it is stopped
    python3 reveille.py verify ID TIMESTAMP SIGNATURE < body   a webhook, by API_WEBHOOK_SECRET
    python3 reveille.py sign METHOD TARGET DATE [BODY [NONCE]] prints the Authorization line
"""
import base64
import datetime
import hashlib
import hmac
import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ORIGIN = os.environ.get("API_ORIGIN", "http://127.0.0.1:8080")
WEBHOOK_TOLERANCE_S = 300


def hmac_sha256(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def sign(method: str, target: str, date: str, body: bytes, nonce: str = "") -> dict:
    """The headers to send, signed by TGV1-HMAC-SHA256. `target` is path?query as sent."""
    path, _, query = target.partition("?")
    if len(path) > 1 and path.endswith("/"):
        path = path[:-1]
    body_hash = hashlib.sha256(body).hexdigest()
    signed = {
        "x-tg-algorithm": "TGV1-HMAC-SHA256",
        "x-tg-app-id": os.environ["API_APP_ID"],
        "x-tg-content-sha256": body_hash,
        "x-tg-date": date,
    }
    if method in ("POST", "PUT", "PATCH"):
        query = ""  # never part of the signature of a request with a body
        signed.update({"content-length": str(len(body)), "content-type": "application/json"})
    if nonce:
        signed["x-tg-nonce"] = nonce
    names = ";".join(sorted(signed))
    lines = [f"{name}:{signed[name]}" for name in sorted(signed)]
    canonical = "\n".join([method, path, query.replace("+", "%20"), *lines, names, body_hash])

    day = datetime.datetime.strptime(date[:8], "%Y%m%d")
    scope = f"{day + datetime.timedelta(days=7):%Y%m%d}/tgv1_request"
    to_sign = "\n".join(["TGV1-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = hmac_sha256(("TGV1" + os.environ["API_SECRET_KEY"]).encode(), date[:8])
    key = hmac_sha256(hmac_sha256(key, path), "tgv1_request")
    signature = hmac_sha256(key, to_sign).hex()

    credential = f"{os.environ['API_ACCESS_KEY_ID']}/{scope}"
    authorization = f"TGV1-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return {**signed, "x-tg-signed-headers": names, "authorization": authorization}


def request(method: str, target: str, value=None, timeout_s: float = 10) -> dict:
    """Sends a signed request. Every response is JSON with a `code`; 0 is success."""
    body = b"" if value is None else json.dumps(value).encode()
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    # The nonce distinguishes equal changes of the same second.
    headers = sign(method, target, date, body, "" if method == "GET" else secrets.token_hex(16))
    made = urllib.request.Request(ORIGIN + target, body if value is not None else None, headers, method=method)
    try:
        with urllib.request.urlopen(made, timeout=timeout_s) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        return json.load(refused)


def status(device_id: str) -> dict:
    return request("GET", "/v1/device/connectivity?device_id=" + urllib.parse.quote(device_id, safe=""))


def wake(device_id: str, custom_data=None) -> dict:
    """Code 0: the packet was sent. 50402: it may have been sent; retry, a second wake does no harm."""
    body = {"device_id": device_id}
    if custom_data is not None:
        body["custom_data"] = custom_data
    return request("POST", "/v1/device/wakeup-request", body)


def events(cursor: str):
    """Yields pages of the event log after `cursor`, endlessly. Store `next` with your results, so that no event is missed or repeated."""
    while True:
        query = urllib.parse.urlencode({"after": cursor, "wait": 20}, quote_via=urllib.parse.quote)
        answer = request("GET", "/v1/events?" + query, timeout_s=30)
        yield answer
        if answer["code"] != 0:
            return
        cursor = answer["data"]["next"]


def verify(secret: str, webhook_id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    """Standard Webhooks: pass the raw body, before any parser."""
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > WEBHOOK_TOLERANCE_S:
        return False
    key = base64.b64decode(secret[len("whsec_") :])
    mac = hmac.new(key, f"{webhook_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(mac)
    return any(hmac.compare_digest(expected, given.encode()) for given in signatures.split(" "))


def show(answer: dict) -> int:
    print(json.dumps(answer, ensure_ascii=False), flush=True)
    return 0 if answer["code"] == 0 else 1


def main(arguments: list) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command == "status" and len(rest) == 1:
        return show(status(rest[0]))
    if command == "wake" and len(rest) in (1, 2):
        return show(wake(*rest))
    if command == "events" and len(rest) < 2:
        return max(map(show, events(rest[0] if rest else "latest")))
    if command == "verify" and len(rest) == 3:
        valid = verify(os.environ["API_WEBHOOK_SECRET"], *rest, sys.stdin.buffer.read())
        print("valid" if valid else "invalid")
        return 0 if valid else 1
    if command == "sign" and len(rest) in (3, 4, 5):
        body, nonce = (*rest[3:], "", "")[:2]
        print(sign(*rest[:3], body.encode(), nonce)["authorization"])
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A client of the Profile Lookup API for Python 3.8 or newer. It needs nothing installed. The environment variable SECRET
has the secret of an API key:

    from urllib.parse import quote
    from profile_lookup import get
    profile = get("/lookup/username/" + quote("Ada", safe=""))
"""
import json, os, time, urllib.error, urllib.request

BASE = "http://127.0.0.1:3000/api"
MOST_CACHED = 1000


class Refusal(Exception):
    """A refusal: its status, its X-Error-Code, such as "not_found", and its sentence as the message."""

    def __init__(self, status, code, sentence):
        super().__init__(sentence)
        self.status, self.code = status, code


cache = {}


def get(path, most_seconds=60):
    """Gets the JSON at a path. Where it is told to wait, it does, for most_seconds in all; then it raises the refusal."""
    etag, known = cache.get(path, (None, None))
    while True:
        request = urllib.request.Request(BASE + path, headers={"If-None-Match": etag} if etag else {})
        request.add_unredirected_header("Authorization", "Bearer " + os.environ["SECRET"])
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return keep(path, answer.headers["ETag"], json.load(answer))
        except urllib.error.HTTPError as refusal:
            with refusal:
                if refusal.code == 304:
                    return known
                seconds = refusal.headers.get("Retry-After", "")
                wait = int(seconds) if refusal.code in (429, 503) and seconds.isdecimal() else 0
                if not 0 < wait <= most_seconds:
                    raise Refusal(refusal.code, refusal.headers["X-Error-Code"], sentence_of(refusal)) from None
        time.sleep(wait)
        most_seconds -= wait


def sentence_of(refusal):
    try:
        return json.load(refusal)["error"]
    except (ValueError, KeyError, TypeError):
        return refusal.reason


def keep(path, etag, body):
    while len(cache) >= MOST_CACHED:
        cache.pop(next(iter(cache)))
    if etag is not None:
        cache[path] = (etag, body)
    return body

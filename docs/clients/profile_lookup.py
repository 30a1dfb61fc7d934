"""A client of the Profile Lookup API for Python 3.8 or newer, without dependencies. It reads an API key's secret from the
environment variable SECRET:

    from urllib.parse import quote
    from profile_lookup import get
    profile = get("/lookup/username/" + quote("Ada", safe=""))
"""
import json, os, time, urllib.error, urllib.request

BASE = "http://127.0.0.1:3000/api"


class Refusal(Exception):
    """An error response; args are its status, its X-Error-Code, such as "not_found", and its sentence."""


cache = {}


def get(path, max_seconds=60):
    """Returns the JSON at a path. Honours Retry-After for up to max_seconds in total, then raises the Refusal."""
    etag, known = cache.get(path, (None, None))
    while True:
        request = urllib.request.Request(BASE + path, headers={"If-None-Match": etag} if etag else {})
        request.add_unredirected_header("Authorization", "Bearer " + os.environ["SECRET"])
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                body = json.load(response)
                if len(cache) >= 1000:
                    cache.clear()
                cache[path] = response.headers["ETag"], body
                return body
        except urllib.error.HTTPError as error:
            if error.code == 304:
                return known
            seconds = error.headers.get("Retry-After", "")
            wait = int(seconds) if error.code in (429, 503) and seconds.isdecimal() else 0
            if not 0 < wait <= max_seconds:
                raise Refusal(error.code, error.headers["X-Error-Code"], sentence_of(error)) from None
        time.sleep(wait)
        max_seconds -= wait


def sentence_of(error):
    try:
        return json.load(error)["error"]
    except (ValueError, KeyError, TypeError):
        return error.reason

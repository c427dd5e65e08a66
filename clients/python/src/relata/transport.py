"""HTTP with the standard library: packs bodies, repeats requests after temporary failures, and never does a write twice."""

from __future__ import annotations

import gzip
import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Dict, Iterator, Mapping, Optional

from .errors import RelataError, UnreachableError

# Temporary failures (docs/interface §7.4).
_PASSING = {408, 429, 502, 503, 504}
_LONGEST_PAUSE_SECONDS = 30.0
# Packing a smaller body saves nothing.
_LEAST_PACKED = 1_024


class Transport:
    """Calls of one service with one key."""

    def __init__(self, url: str, key: str, *, retries: int, timeout: float) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._retries = retries
        self._timeout = timeout

    def read(self, method: str, path: str, query: Optional[Mapping[str, Any]] = None, body: Any = None) -> Any:
        """A call that changes nothing."""
        return self._call(method, path, query, body, {})

    def write(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        idempotency_key: Optional[str] = None,
    ) -> Any:
        """A call that takes effect once, however often it is repeated (docs/interface §7.5)."""
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        return self._call(method, path, query, body, headers)

    def lines(self, path: str, query: Optional[Mapping[str, Any]] = None) -> Iterator[Any]:
        """Lines of NDJSON, as they arrive."""
        with self._open("GET", path, query, None, {}) as response:
            for line in response:
                if line.strip():
                    yield json.loads(line)

    def _call(
        self, method: str, path: str, query: Optional[Mapping[str, Any]], body: Any, headers: Mapping[str, str]
    ) -> Any:
        with self._open(method, path, query, body, headers) as response:
            text = response.read()
        return json.loads(text) if text else None

    def _open(
        self, method: str, path: str, query: Optional[Mapping[str, Any]], body: Any, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        request = self._build(method, path, query, body, headers)
        for repetition in range(self._retries + 1):
            try:
                return urllib.request.urlopen(request, timeout=self._timeout)
            except urllib.error.HTTPError as error:
                failure: Exception = _read_refusal(error)
                pause = getattr(failure, "retry_after_seconds", None)
                if error.code not in _PASSING or repetition == self._retries:
                    raise failure from None
            except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
                pause = None
                if repetition == self._retries:
                    raise UnreachableError(f"{self._url} cannot be reached: {error}") from error
            time.sleep(_pause_before(repetition, pause))
        raise AssertionError("the last attempt returns or raises")

    def _build(
        self, method: str, path: str, query: Optional[Mapping[str, Any]], body: Any, headers: Mapping[str, str]
    ) -> urllib.request.Request:
        sent: Dict[str, str] = {"Authorization": f"Bearer {self._key}", "Accept": "application/json", **headers}
        data: Optional[bytes] = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
            sent["Content-Type"] = "application/json"
            if len(data) >= _LEAST_PACKED:
                data = gzip.compress(data, 1)
                sent["Content-Encoding"] = "gzip"
        return urllib.request.Request(self._url + path + _to_query(query or {}), data, sent, method=method)


def _to_query(query: Mapping[str, Any]) -> str:
    pairs = []
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (list, dict, tuple)):
            value = json.dumps(value, ensure_ascii=False)
        pairs.append((name, str(value)))
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def _read_refusal(error: urllib.error.HTTPError) -> RelataError:
    with error:
        text = error.read()
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    after = error.headers.get("Retry-After", "")
    return RelataError(error.code, body if isinstance(body, dict) else {}, int(after) if after.isdigit() else None)


def _pause_before(repetition: int, retry_after_seconds: Optional[int]) -> float:
    if retry_after_seconds is not None:
        return min(float(retry_after_seconds), _LONGEST_PAUSE_SECONDS)
    return min(0.5 * 2**repetition, _LONGEST_PAUSE_SECONDS) * (0.5 + random.random() / 2)

"""The little of HTTP that vaults and report streams need, on the standard library."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import IO

from mainspring._version import __version__
from mainspring.project.errors import ProjectError

__all__ = ["Answer", "Unreachable", "request"]


class Unreachable(ProjectError):
    """No answer at all: no route, no server, a connection that broke."""


class Answer:
    """What a server said. `body` is still to be read."""

    def __init__(self, status: int, headers: Mapping[str, str], body: IO[bytes]) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def fine(self) -> bool:
        """Whether the server did what was asked."""
        return 200 <= self.status < 300


@contextmanager
def request(
    method: str,
    url: str,
    *,
    data: bytes | IO[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 10.0,
) -> Iterator[Answer]:
    """Send a request; the answer is open while the block runs, whatever its status."""
    check_url(url)
    sent = {"User-Agent": f"mainspring/{__version__}", **(headers or {})}
    call = urllib.request.Request(url, data=data, method=method, headers=sent)
    try:
        try:
            response = urllib.request.urlopen(call, timeout=timeout_s)
        except urllib.error.HTTPError as error:
            response = error
        with closing(response):
            yield Answer(response.status or 0, response.headers, response)
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        ConnectionError,
        TimeoutError,
    ) as error:
        reason = getattr(error, "reason", None) or error
        raise Unreachable(f"{method} {url}: {reason}") from None


def check_url(url: str) -> str:
    """`url`, when it is one of HTTP; nothing here reads `file:` for a stranger."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ProjectError(f"{url!r} is no http or https address")
    return url


def read_in_pieces(body: IO[bytes], checkpoint: Callable[[], None]) -> Iterator[bytes]:
    """The body, a little at a time, with a chance to stop between two pieces."""
    while piece := body.read(1 << 16):
        checkpoint()
        yield piece

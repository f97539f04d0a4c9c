"""The little of HTTP that vaults and report streams need, on the standard library.

The promise: a request to stop ends a wait for a server at once, whatever the server does. What
changes something there goes to the address it was given and nowhere else: only GET and HEAD
follow a redirect, and never from https to http.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from mainspring._version import __version__
from mainspring.project.errors import ProjectError
from mainspring.threads import StopToken

__all__ = ["Answer", "Unreachable", "check_url", "read_in_pieces", "request"]


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

    def __str__(self) -> str:
        """The status, and where it points to."""
        to = self.headers.get("Location") if 300 <= self.status < 400 else None
        return f"{self.status}, go to {_shown(to)}" if to else str(self.status)

    def explanation(self) -> str:
        """The beginning of what the server says about it."""
        return _shown(self.body.read(1000).decode(errors="replace"))


@contextlib.contextmanager
def request(
    method: str,
    url: str,
    *,
    stop: StopToken | None = None,
    data: bytes | IO[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 10.0,
) -> Iterator[Answer]:
    """Send a request; the answer is open while the block runs, whatever its status.

    `timeout_s` is for each wait. A request to stop breaks the connection, which the block may
    see as a body that ends early: it calls `stop.checkpoint()` before it believes one.
    """
    check_url(url)
    sent = {"User-Agent": f"mainspring/{__version__}", **(headers or {})}
    call = urllib.request.Request(url, data=data, method=method, headers=sent)
    line = _Line()
    opener = urllib.request.build_opener(_Http(line), _Https(line), _Redirects())
    with (
        contextlib.closing(line),
        stop.on_stop(line.cut) if stop is not None else contextlib.nullcontext(),
    ):
        try:
            try:
                response = opener.open(call, timeout=timeout_s)
            except urllib.error.HTTPError as error:
                response = error
            except ValueError as error:  # of a host's name, or of a header
                raise http.client.HTTPException(error) from None
            with contextlib.closing(response):
                yield Answer(response.status or 0, response.headers, response)
        except (
            urllib.error.URLError,
            http.client.HTTPException,
            ConnectionError,
            TimeoutError,
        ) as error:
            if stop is not None:
                stop.checkpoint()
            reason = getattr(error, "reason", None) or error
            raise Unreachable(
                f"{method} {url}: {_shown(str(reason))}",
                hint="is the address right, and the server up?",
            ) from None


def check_url(url: str) -> str:
    """`url`, when it is one of HTTP; nothing here reads `file:` for a stranger."""
    try:
        parts = urllib.parse.urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine or any(ord(c) <= 32 or ord(c) == 127 for c in url):
        raise ProjectError(
            f"{url!r} is no http or https address", hint="such as https://host/folder"
        )
    return url


def read_in_pieces(body: IO[bytes], checkpoint: Callable[[], None]) -> Iterator[bytes]:
    """The body, a little at a time, with a chance to stop before each piece and at the end."""
    while piece := body.read(1 << 16):
        checkpoint()
        yield piece
    checkpoint()


def _shown(text: str) -> str:
    """What a stranger wrote, for a terminal: nothing in it moves a cursor."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


class _Line:
    """The connections of one request, from before they are made; another thread may cut them."""

    def __init__(self) -> None:
        # Duplicates, which stay ours whatever becomes of a socket (TLS makes another one of it).
        self._twins: list[socket.socket] = []
        self._is_cut = False

    def connect(
        self, address: tuple[str, int], timeout: float, source: Any = None
    ) -> socket.socket:
        """As `socket.create_connection`, with a socket that can be cut while it waits."""
        failure = OSError(f"{address[0]} has no address")
        for family, kind, protocol, _, place in socket.getaddrinfo(
            *address, type=socket.SOCK_STREAM
        ):
            made = socket.socket(family, kind, protocol)
            made.settimeout(timeout)
            self._twins.append(made.dup())
            try:
                if not self._is_cut:
                    made.connect(place)
                    return made
            except OSError as error:
                failure = error
            made.close()
        raise failure

    def cut(self) -> None:
        """End every wait for the server."""
        self._is_cut = True
        for twin in self._twins:
            with contextlib.suppress(OSError):
                twin.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give back what was needed to cut it."""
        for twin in self._twins:
            twin.close()


class _Http(urllib.request.HTTPHandler):
    _kind: type[http.client.HTTPConnection] = http.client.HTTPConnection

    def __init__(self, line: _Line) -> None:
        super().__init__()
        self._line = line

    def http_open(self, call: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, call)

    def _connection(self, *args: Any, **options: Any) -> http.client.HTTPConnection:
        made = self._kind(*args, **options)
        made._create_connection = self._line.connect  # type: ignore[attr-defined]
        return made


class _Https(_Http):
    _kind = http.client.HTTPSConnection

    def https_open(self, call: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, call)


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, call: urllib.request.Request, *rest: Any
    ) -> urllib.request.Request | None:
        to = rest[-1]
        safe = to.startswith("https:") or (to.startswith("http:") and call.type == "http")
        if call.get_method() not in ("GET", "HEAD") or not safe:
            return None  # the answer is the redirect itself
        return super().redirect_request(call, *rest)

    def http_error_302(self, *told: Any) -> Any:
        try:
            return super().http_error_302(*told)
        except ValueError:
            return None  # to what is no address: the answer is the redirect itself

    http_error_301: Any = http_error_302
    http_error_303: Any = http_error_302
    http_error_307: Any = http_error_302
    http_error_308: Any = http_error_302

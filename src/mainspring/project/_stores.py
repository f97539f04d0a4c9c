"""Where a vault keeps its bytes: a folder, or the same layout behind HTTP.

    index.json            every package: name, version, size, sha256
    objects/ab/abcd...    the packages, each under the checksum of its content

Any web server that serves the folder is a vault to read from; one that also takes PUT and
DELETE, and answers `If-Match`, is one to write to.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from mainspring.project._files import CHUNK_BYTES, StagedFile, lock_file, write_atomically
from mainspring.project._http import Answer, Unreachable, check_url, read_in_pieces, request
from mainspring.project.errors import VaultError
from mainspring.threads import Progress, StopToken

__all__ = ["FolderStore", "HttpStore", "Store", "open_store"]

MAX_INDEX_BYTES = 64 << 20
EMPTY_INDEX = b'{"format": 1, "packages": []}'

Change = Callable[[bytes | None], bytes]
"""From the index as it is (None where there is no vault yet) to the index as it shall be."""


class Store(Protocol):
    """What a vault needs of a place that keeps bytes."""

    def read_index(self, stop: StopToken | None = None) -> bytes | None: ...

    def change_index(self, change: Change) -> None: ...

    def has(self, sha256: str, stop: StopToken) -> bool: ...

    def read(self, sha256: str, stop: StopToken) -> Iterator[bytes]: ...

    def write(self, sha256: str, source: Path, stop: StopToken, progress: Progress) -> None: ...

    def delete(self, sha256: str) -> None: ...


def open_store(location: str | os.PathLike[str]) -> Store:
    """A store by its address or its folder."""
    text = os.fspath(location)
    if not text:
        raise VaultError("a vault's place is empty", hint="name a folder or an http(s) address")
    return HttpStore(text) if "://" in text else FolderStore(Path(text).absolute())


def _object(sha256: str) -> str:
    return f"objects/{sha256[:2]}/{sha256}"


class FolderStore:
    """A store in a folder, which is made when the first package is put into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise VaultError(f"{folder} is not a folder", hint="a vault is a folder or an address")
        if not folder.exists() and not folder.parent.is_dir():
            raise VaultError(f"{folder.parent} is not a folder", hint="make the folder first")

    def __str__(self) -> str:
        return str(self.folder)

    def read_index(self, stop: StopToken | None = None) -> bytes | None:
        try:
            return (self.folder / "index.json").read_bytes()
        except FileNotFoundError:
            return EMPTY_INDEX if self.folder.is_dir() else None

    def change_index(self, change: Change) -> None:
        with lock_file(self.folder / "index.lock"):
            write_atomically(self.folder / "index.json", change(self.read_index()))

    def has(self, sha256: str, stop: StopToken) -> bool:
        return (self.folder / _object(sha256)).is_file()

    def read(self, sha256: str, stop: StopToken) -> Iterator[bytes]:
        try:
            with open(self.folder / _object(sha256), "rb") as source:
                yield from read_in_pieces(source, stop.checkpoint)
        except FileNotFoundError:
            raise VaultError(f"{self.folder} has lost object {sha256}") from None

    def write(self, sha256: str, source: Path, stop: StopToken, progress: Progress) -> None:
        path = self.folder / _object(sha256)
        made = _make_folders(path.parent)
        try:
            total = source.stat().st_size or 1
            with open(source, "rb") as data, StagedFile(path) as staged:
                while chunk := data.read(CHUNK_BYTES):
                    stop.checkpoint()
                    staged.file.write(chunk)
                    progress.set(fraction=min(data.tell() / total, 1.0))
                staged.publish(replace=True)
        except BaseException:
            _remove_empty(made)
            raise

    def delete(self, sha256: str) -> None:
        path = self.folder / _object(sha256)
        path.unlink(missing_ok=True)
        index, lock = self.folder / "index.json", self.folder / "index.lock"
        if lock.exists() and not index.exists():  # this would have been the first package
            with lock_file(lock):
                if not index.exists():
                    lock.unlink()
        _remove_empty([self.folder, path.parent.parent, path.parent])


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and what is missing above it; which ones were made, outermost first."""
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
    return missing[::-1]


def _remove_empty(folders: list[Path]) -> None:
    for folder in reversed(folders):
        with contextlib.suppress(OSError):  # not empty: somebody else uses it
            folder.rmdir()


class HttpStore:
    """The same layout behind an address."""

    def __init__(self, address: str, *, timeout_s: float = 10.0) -> None:
        self.address = check_url(address).rstrip("/")
        self.timeout_s = timeout_s

    def __str__(self) -> str:
        return self.address

    def read_index(self, stop: StopToken | None = None) -> bytes | None:
        return self._read_index(stop)[0]

    def change_index(self, change: Change) -> None:
        # Past the point of no return, so without a stop token. Whoever else changed it meanwhile
        # is not overwritten: the server compares the tag.
        for _ in range(5):
            before, tag = self._read_index()
            headers = {"If-None-Match": "*"} if before is None else {"If-Match": tag or "*"}
            headers["Content-Type"] = "application/json"
            url = f"{self.address}/index.json"
            with request(
                "PUT", url, data=change(before), headers=headers, timeout_s=self.timeout_s
            ) as answer:
                if answer.fine:
                    return
                if answer.status != 412:
                    raise _refused("PUT", url, answer)
        raise VaultError(f"{self.address}/index.json is changed by others all the time")

    def has(self, sha256: str, stop: StopToken) -> bool:
        url = f"{self.address}/{_object(sha256)}"
        with request("HEAD", url, stop=stop, timeout_s=self.timeout_s) as answer:
            return answer.fine

    def read(self, sha256: str, stop: StopToken) -> Iterator[bytes]:
        url = f"{self.address}/{_object(sha256)}"
        with request("GET", url, stop=stop, timeout_s=self.timeout_s) as answer:
            if not answer.fine:
                raise _refused("GET", url, answer)
            yield from read_in_pieces(answer.body, stop.checkpoint)

    def write(self, sha256: str, source: Path, stop: StopToken, progress: Progress) -> None:
        url = f"{self.address}/{_object(sha256)}"
        size = source.stat().st_size
        headers = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
        with open(source, "rb") as data:
            body = _Watched(data, size, stop, progress)
            with request(
                "PUT",
                url,
                stop=stop,
                data=body,  # type: ignore[arg-type]  # urllib only reads it
                headers=headers,
                timeout_s=self.timeout_s,
            ) as answer:
                if not answer.fine:
                    raise _refused("PUT", url, answer)

    def delete(self, sha256: str) -> None:
        # Best effort: this cleans up after a failure, maybe of the very connection.
        url = f"{self.address}/{_object(sha256)}"
        with (
            contextlib.suppress(Unreachable),
            request("DELETE", url, timeout_s=self.timeout_s),
        ):
            pass

    def _read_index(self, stop: StopToken | None = None) -> tuple[bytes | None, str | None]:
        url = f"{self.address}/index.json"
        with request("GET", url, stop=stop, timeout_s=self.timeout_s) as answer:
            if answer.status == 404:
                return None, None
            if not answer.fine:
                raise _refused("GET", url, answer)
            pieces, size = [], 0
            for piece in read_in_pieces(answer.body, stop.checkpoint if stop else _go_on):
                pieces.append(piece)
                size += len(piece)
                if size > MAX_INDEX_BYTES:
                    raise VaultError(f"{url} is larger than an index of {MAX_INDEX_BYTES >> 20} MB")
            wanted = answer.headers.get("Content-Length")
            if wanted is not None and wanted.isdigit() and size != int(wanted):
                raise Unreachable(f"GET {url}: the answer broke off", hint="try again")
            return b"".join(pieces), answer.headers.get("ETag")


def _go_on() -> None:
    return None


def _refused(method: str, url: str, answer: Answer) -> VaultError:
    hint = "may you write to this vault?" if method == "PUT" else "is this the vault's address?"
    return VaultError(f"{method} {url} was answered with {answer}", hint=hint)


class _Watched:
    """A file that is being sent: looks at the stop token, and tells how far it is."""

    def __init__(self, data: object, size: int, stop: StopToken, progress: Progress) -> None:
        self._read = data.read  # type: ignore[attr-defined]
        self._size = size or 1
        self._sent = 0
        self._stop = stop
        self._progress = progress

    def read(self, count: int = -1) -> bytes:
        self._stop.checkpoint()
        piece: bytes = self._read(count)
        self._sent += len(piece)
        self._progress.set(fraction=self._sent / self._size)
        return piece

"""Sources in object stores, `s3://bucket/night/`, by fsspec.

Rules
1. fsspec lists and opens; DuckDB reads by the same file systems, registered with its connection.  No extension of
   DuckDB is downloaded.  Who may read is fsspec's business: its settings and the variables of each store.
2. What holds on disk holds here: a name that is a file's is that file, a folder means all below it, only what was given
   as a pattern is one, and what matches nothing is an error.
3. Packed files are counted where they are in memory: they are read from a disk only.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from typing import IO, Any

from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from server_agg.errors import DataUnavailable

STORES = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "memory": "fsspec"}
"""The protocols, and the package that fsspec takes for each."""
URL = re.compile(r"([a-z][a-z0-9+.-]+)://")


def is_url(name: str) -> bool:
    """Whether a name is an address in a store.

    >>> is_url("s3://bucket/night.csv"), is_url("night.csv"), is_url("/a://b")
    (True, False, False)
    """
    return URL.match(name) is not None


def _file_system(url: str) -> Any:
    protocol = url.partition("://")[0]
    if protocol not in STORES:
        raise ParameterError("source", url, f"addresses that begin with {', '.join(f'{name}://' for name in STORES)}")
    try:
        return extra("fsspec", "stores").filesystem(protocol)
    except ImportError:
        raise DataUnavailable(f"{protocol}:// needs a package: pip install {STORES[protocol]}") from None


def file_systems(names: Iterable[str]) -> list[Any]:
    """The file systems that these names are in, each once."""
    return [_file_system(f"{protocol}://") for protocol in sorted({n.partition("://")[0] for n in names if is_url(n)})]


def opened(url: str) -> IO[bytes]:
    """The bytes of a file in a store."""
    file: IO[bytes] = _file_system(url).open(url, "rb")
    return file


def urls_of(url: str) -> tuple[list[str], bool]:
    """The addresses of all files that one means, and whether it is a folder's."""
    store, protocol = _file_system(url), url.partition("://")[0]
    try:
        if store.isfile(url):
            return [url], False
        if store.isdir(url):
            root = store._strip_protocol(url)
            below = {path: path[len(root) :] for path in store.find(url)}
            shown = [path for path, rest in below.items() if not re.search(r"(?:^|/)[._]", rest)]
            return [_address(protocol, path) for path in shown], True
        found = store.glob(url) if glob.has_magic(url) else []
        return [one for path in found for one in urls_of(_address(protocol, path))[0]], False
    except Exception as error:  # each store has errors of its own
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise DataUnavailable(f"{url} cannot be read: {type(error).__name__}: {reason}") from None


def _address(protocol: str, path: str) -> str:
    return path if is_url(path) else f"{protocol}://{path.lstrip('/')}"

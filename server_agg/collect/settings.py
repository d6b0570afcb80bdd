"""What a collector runs with: the one table of settings, each with its default and its reason; the environment that
they come from, `RRCOLLECT_PORT=8080` or `RRCOLLECT_OWNER_TOKEN_FILE=/run/secrets/token`; and the owner's token.

Rules
1. Every setting is a field here; `rrcollect serve --help`, the variables `RRCOLLECT_*` and the table in
   docs/operators.md are made from these fields.
2. An unknown name or a value out of range is a `ParameterError` that says what is allowed.
3. A secret (the owner's token, the database's address) is never shown: not in a repr, not in an error, not in a log.
4. What a program or a command line gives wins; then the variable; then the file that `…_FILE` names; then the default.
   A variable and its `…_FILE` together are an error: nobody could say which one counts.  An empty variable is not set.
   A file's last line break is not part of its value.
5. A variable that begins with RRCOLLECT_ and is not a setting's is an error: a typing mistake must not pass for a
   default.  `OTHERS` are read elsewhere.
6. With the owner's token one may publish surveys, make invites and read results.  It comes from a file that only the
   owner may read, or from the environment; never from an address or a page.  It is sent as "Authorization: Bearer …"
   and compared in constant time, by hash, so that length tells nothing either.  It has at least 16 characters, and is
   not kept in memory in the clear.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, field_validator

from rrcollect.errors import ParameterError
from server_agg.errors import Refusal

PREFIX = "RRCOLLECT_"
GRACE = timedelta(days=7)
SECRETS = ("store", "owner_token")
FILE = "_FILE"
OTHERS = frozenset({"RRCOLLECT_KEY_PASSWORD"})
SHORTEST_TOKEN = 16

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Port = Annotated[int, Field(ge=1, le=65535)]

LONGEST_DAYS = 36_525  # a hundred years
LONGEST = timedelta(days=LONGEST_DAYS)
SHORTEST_STEP = timedelta(hours=1)  # between two releases by the clock: coarse, so that it tells nobody's moment


def _in_hours(given: Any) -> Any:
    try:
        return given if isinstance(given, timedelta) else timedelta(hours=float(given))
    except (TypeError, ValueError, OverflowError):
        raise ValueError("a number of hours") from None


Step = Annotated[timedelta, Field(ge=SHORTEST_STEP), BeforeValidator(_in_hours)]


def variable(name: str) -> str:
    """The variable of a setting in the environment.

    >>> variable("list_limit")
    'RRCOLLECT_LIST_LIMIT'
    """
    return PREFIX + name.upper()


OWN_ADDRESSES = (
    "assets", "gateway", "livez", "log", "metrics", "openapi.json", "owner", "r", "readyz", "reports", "results", "s",
    "surveys",
)  # fmt: skip


class CollectorSettings(BaseModel):
    """Every setting of a collector; what is not given has its default.

    >>> CollectorSettings(minimum=100).minimum, CollectorSettings().list_limit
    (100, 100)
    >>> CollectorSettings(minimum=1)
    Traceback (most recent call last):
    ...
    rrcollect.errors.ParameterError: minimum is 1: use greater than or equal to 2
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    store: SecretStr = Field(SecretStr("rrcollect.sqlite3"), description="a file, or a postgresql:// address")
    owner_token: SecretStr | None = Field(None, description="the owner's token, 16 characters or more")
    host: str = Field("127.0.0.1", description="the address to listen on")
    port: Port = Field(8000, description="the port to listen on")
    prefix: str = Field("", description="the path below which people reach it, such as /ask")
    https: bool = Field(False, description="people reach it by https, through a proxy in front of it")
    workers: Count = Field(1, description="processes; more than one need PostgreSQL")
    metrics_port: Port | None = Field(None, description="a port for /metrics without the token")
    metrics_host: str = Field("127.0.0.1", description="the address of that port")
    minimum: Annotated[int, Field(ge=2)] = Field(30, description="the least minimum of a survey that is taken here")
    public_results: bool = Field(False, description="show the last release without the token")
    release_every: Step | None = Field(None, description="hours between releases by themselves, 1 or more")
    results_age: Seconds = Field(1.0, description="seconds for which counts are remembered between two readers")
    grace: Annotated[timedelta, Field(ge=timedelta(0), le=LONGEST)] = Field(
        GRACE, description="how long after its expiry reports are taken (P7D: seven days)"
    )
    retention_days: Annotated[int, Field(ge=0, le=LONGEST_DAYS)] | None = Field(
        None, description="days after expiry and grace, when a survey is closed by itself"
    )
    list_limit: Annotated[int, Field(ge=1, le=1000)] = Field(100, description="reports in one request")
    body_seconds: Seconds = Field(10.0, description="seconds in which a body must arrive")
    header_seconds: Seconds = Field(10.0, description="seconds in which a request's head must arrive")
    body_budget: Count = Field(32 * 2**20, description="bytes of all bodies that are under way")
    connections: Count = Field(2_000, description="connections at once")
    queue_limit: Count = Field(10_000, description="reports that may wait for the disk")
    batch_limit: Count = Field(1_000, description="reports in one transaction")
    fold_seconds: Seconds = Field(1.0, description="seconds that reports gather, at the least, before a fold")
    epoch_keys: str | None = Field(None, description="the folder of epoch keys, if not beside the database file")
    keep_rows: bool | None = Field(
        None, description="keep folded reports as rows, not only ids and counts; the database remembers it"
    )
    log_key: str | None = Field(
        None, description="the file of the key that signs the log of surveys (from `rrcollect keygen`)"
    )
    log_name: str = Field("", description="the name under which it signs, such as collect.example.org/log")
    log_witnesses: str = Field("", description="the keys of the log's witnesses, with spaces between them")
    gateway_keys: str | None = Field(
        None, description="the file of keys of a gateway for oblivious HTTP (from `rrcollect keygen --gateway`)"
    )
    stop_seconds: Count = Field(30, description="seconds for what was accepted, when it is told to stop")
    log_seconds: Annotated[float, Field(ge=1)] = Field(900.0, description="seconds between two counts in the log")

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise _parameter_error(error) from None
        self._fit_together()

    @field_validator("prefix")
    @classmethod
    def _is_path(cls, given: str) -> str:
        plain = given.rstrip("/")
        if plain and (not plain.startswith("/") or set(plain) & set("?#%\\ ") or "//" in plain):
            raise ValueError("a path such as /ask")
        if plain.removeprefix("/").partition("/")[0] in OWN_ADDRESSES:  # without the prefix it would be that address
            raise ValueError(f"a path such as /ask that begins with none of {', '.join(OWN_ADDRESSES)}")
        return plain

    def _fit_together(self) -> None:
        if self.queue_limit < self.list_limit or self.batch_limit < self.list_limit:
            raise ParameterError("queue_limit", self.queue_limit, f"at least list_limit = {self.list_limit}")
        if (self.log_key is None) != (not self.log_name):
            raise ParameterError("log_name", self.log_name, "a name, together with log_key; or neither")
        if self.workers > 1 and "://" not in self.store.get_secret_value():
            raise ParameterError("workers", self.workers, "1 for SQLite, which has one writer; more with PostgreSQL")

    def shown(self) -> dict[str, Any]:
        """Every setting as JSON, with nothing secret: for the log.

        >>> CollectorSettings(store="postgresql://me:secret@db.example.org/reports").shown()["store"]
        'postgresql://db.example.org/reports'
        """
        values = self.model_dump(mode="json", exclude=set(SECRETS))
        address = urlsplit(self.store.get_secret_value())
        where = address.path if not address.scheme else f"{address.scheme}://{address.hostname or ''}{address.path}"
        return {"store": where, "owner_token": "set" if self.owner_token else "not set", **values}


def defaults() -> dict[str, str]:
    """The default of every setting, as it may be typed; "" for none.

    >>> defaults()["grace"], defaults()["https"], defaults()["metrics_port"]
    ('P7D', 'no', '')
    """
    found = CollectorSettings()
    values = {**found.model_dump(mode="json"), "store": found.store.get_secret_value()}
    return {name: _typed(value) for name, value in values.items()}


def _typed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _parameter_error(error: ValidationError) -> ParameterError:
    """The first fault, as the rest of the project says it."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    if first["type"] == "extra_forbidden":
        return ParameterError("setting", name, f"one of {', '.join(CollectorSettings.model_fields)}")
    words = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return ParameterError(name, "…" if name in (*SECRETS, "settings") else first["input"], words)


def settings_from_environment(**given: Any) -> CollectorSettings:
    """The settings of this process: what is given, and the environment for the rest."""
    known = {variable(name): name for name in CollectorSettings.model_fields}
    found: dict[str, Any] = {}
    for name, value in os.environ.items():
        if not name.startswith(PREFIX) or name in OTHERS or not value:
            continue
        single = name.removesuffix(FILE)
        if name in known:
            found[known[name]] = value
        elif single not in known:
            raise ParameterError(name, "…", f"the name of a setting: {', '.join(sorted(known))}, or one with {FILE}")
        elif os.environ.get(single):
            raise ParameterError(name, "…", f"either {single} or {name}, not both")
        else:
            found[known[single]] = _read(name, value)
    return CollectorSettings(**{**found, **given})


def _read(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(name, path, "a file of text that can be read") from None


class OwnerToken:
    """A token that can be checked but not read back.

    >>> token = OwnerToken("correct horse battery")
    >>> token.check(b"Bearer correct horse battery")
    >>> token
    OwnerToken(…)
    """

    def __init__(self, token: str) -> None:
        if not isinstance(token, str) or len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
            raise ParameterError("owner token", "…", f"{SHORTEST_TOKEN} or more printable ASCII characters")
        self._digest = hashlib.sha256(token.encode()).digest()

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> OwnerToken:
        """The token in a file, which others must not be able to read."""
        return cls(cls.read(path))

    @staticmethod
    def read(path: str | os.PathLike[str]) -> str:
        """The text of such a file."""
        try:
            mode, text = stat.S_IMODE(os.stat(path).st_mode), Path(path).read_text()
        except (OSError, UnicodeDecodeError):
            raise ParameterError("owner token file", os.fspath(path), "a file that can be read") from None
        if os.name == "posix" and mode & 0o077:
            raise ParameterError("owner token file", os.fspath(path), f"a file of mode 600; this one has {mode:o}")
        return text.strip()

    @classmethod
    def from_settings(cls, settings: CollectorSettings) -> OwnerToken:
        """The token that the settings hold."""
        if settings.owner_token is None:
            raise ParameterError("owner token", None, f"a token file, or the variable {variable('owner_token')}")
        return cls(settings.owner_token.get_secret_value())

    def hashed(self, salt: str) -> str:
        """A slow hash of the token with a salt (hexadecimal)."""
        return hashlib.scrypt(self._digest, salt=bytes.fromhex(salt), n=1 << 14, r=8, p=1, dklen=32).hex()

    def check(self, authorization: bytes | None) -> None:
        """Return if the header carries the token; a `Refusal` otherwise."""
        scheme, _, given = (authorization or b"").partition(b" ")
        fits = hmac.compare_digest(hashlib.sha256(given.strip()).digest(), self._digest)
        if scheme.lower() != b"bearer" or not fits:
            raise Refusal(401, "owner_token", 'this needs the owner\'s token, as "Authorization: Bearer <token>"')

    def __repr__(self) -> str:
        return "OwnerToken(…)"

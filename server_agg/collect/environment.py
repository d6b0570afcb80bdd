"""Settings from the environment: `RRCOLLECT_PORT=8080`, and `RRCOLLECT_OWNER_TOKEN_FILE=/run/secrets/token`.

Rules
1. What a program or a command line gives wins; then the variable; then the file that `…_FILE` names; then the default.
2. A variable that begins with RRCOLLECT_ and is not a setting's is an error: a typing mistake must not pass for a
   default.  `OTHERS` are read elsewhere.
3. A variable and its `…_FILE` together are an error: nobody could say which one counts.
4. An empty variable is not set.  A file's last line break is not part of its value.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from rrcollect.errors import ParameterError
from server_agg.collect.settings import PREFIX, Settings, variable

FILE = "_FILE"
OTHERS = frozenset({"RRCOLLECT_KEY_PASSWORD"})


class _Files(PydanticBaseSettingsSource):
    """The values in files that variables ending in _FILE name."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        named = os.environ.get(variable(field_name) + FILE)
        return (_read(field_name, named) if named else None), field_name, False

    def __call__(self) -> dict[str, Any]:
        fields = self.settings_cls.model_fields
        found = {name: self.get_field_value(field, name)[0] for name, field in fields.items()}
        return {name: value for name, value in found.items() if value is not None}


class _Environment(BaseSettings, Settings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        enable_decoding=False,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        validate_default=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _Files(settings_cls)


def settings_from_environment(**given: Any) -> Settings:
    """The settings of this process: what is given, and the environment for the rest."""
    _check_names()
    values = _Environment(**given).model_dump(exclude_unset=True)  # so that `model_fields_set` tells what was named
    return Settings(**values)


def _read(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(variable(name) + FILE, path, "a file of text that can be read") from None


def _check_names() -> None:
    single = {variable(name) for name in Settings.model_fields}
    for found in os.environ:
        if not found.startswith(PREFIX) or found in OTHERS or not os.environ[found]:
            continue
        base = found.removesuffix(FILE)
        if found not in single and base not in single:
            raise ParameterError(found, "…", f"the name of a setting: {', '.join(sorted(single))}, or one with {FILE}")
        if found not in single and os.environ.get(base):
            raise ParameterError(found, "…", f"either {base} or {found}, not both")

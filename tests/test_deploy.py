"""The files in deploy/ name settings that exist, secrets come from files, and nothing in them logs an address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from server_agg import CollectorSettings
from server_agg.collect.settings import FILE, SECRETS
from tests.inside.collect import variable
from tests.support import image_pins

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
KNOWN = {variable(name) + ending for name in CollectorSettings.model_fields for ending in ("", FILE)}


def test_every_setting_that_is_named_exists():
    for path in filter(Path.is_file, DEPLOY.iterdir()):  # Python may keep bytecode beside its files
        named = set(re.findall(r"RRCOLLECT_[A-Z_]+", path.read_text(encoding="utf-8")))
        assert named <= KNOWN, path.name
    assert not {"RRCOLLECT_PROT"} <= KNOWN  # the check can fail


def test_secrets_are_files_and_nobody_runs_as_root():
    compose, image, unit = ((DEPLOY / name).read_text() for name in ("compose.yaml", "Dockerfile", "rrcollect.service"))
    for name in SECRETS:
        assert f"{variable(name)}{FILE}: /run/secrets/" in compose
    assert f"{variable('owner_token')}{FILE}=%d/" in unit
    assert "\nUSER rrcollect\n" in image
    assert "DynamicUser=yes" in unit
    assert "read_only: true" in compose
    assert "HEALTHCHECK" in image
    assert "/readyz" in image


def test_the_image_has_the_pg_dump_of_the_server_beside_it():
    """A pg_dump refuses to read a newer server."""
    (server,) = re.findall(r"image: postgres:(\d+)", (DEPLOY / "compose.yaml").read_text())
    assert f"postgresql-client-{server} " in (DEPLOY / "Dockerfile").read_text()


@pytest.mark.parametrize("name", image_pins.files())
def test_what_the_image_installs_is_pinned_in_step_with_the_project(name):
    pinned = image_pins.pinned(name)
    for requirement in map(Requirement, image_pins.files()[name]):
        version, _ = pinned[requirement.name]
        assert requirement.specifier.contains(version), requirement
    for version, hashes in pinned.values():
        assert re.fullmatch(r"[\d.]+", version)
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes)
    text = (DEPLOY / name).read_text()
    assert "python -m tests.support.image_pins" in text
    assert "://" not in text
    planted = Requirement(f"{requirement.name}>=10000")
    assert not planted.specifier.contains(pinned[planted.name][0])


def test_the_image_installs_what_is_pinned_and_nothing_else():
    image = (DEPLOY / "Dockerfile").read_text()
    for name in image_pins.files():
        assert f"--require-hashes --no-deps -r deploy/{name}" in image
    for line in re.findall(r"pip (?:install|wheel) [^\n]*", image):
        assert "--no-deps" in line
    copied = set(re.findall(r"^COPY (?!--from)(.*) \S+$", image, re.MULTILINE))
    assert {"rrcollect", "server_agg", "pyproject.toml hatch_build.py README.md LICENSE"} < copied  # a wheel needs them


def test_the_proxy_and_the_database_write_no_addresses():
    proxy, compose = (DEPLOY / "Caddyfile").read_text(), (DEPLOY / "compose.yaml").read_text()
    assert not re.search(r"^\tlog\b", proxy.split("{$SITE}")[1], re.MULTILINE)  # no access log
    for field in ("request", "remote_ip", "remote_addr"):
        assert f"{field} delete" in proxy
    for header in ("X-Forwarded-For", "User-Agent"):
        assert f"header_up -{header}" in proxy
    assert "log_connections=off" in compose
    assert "log_min_error_statement=panic" in compose

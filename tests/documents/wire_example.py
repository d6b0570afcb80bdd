"""The worked example of docs/wire-format.md, made by the implementation: `python -m tests.documents.wire_example`.

The key's seed is printed in the page, so that anybody can make the same signature (Ed25519 is deterministic).  It
signs nothing else.
"""

from __future__ import annotations

import hashlib
import sys
from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rrcollect import Question, Report, SigningKey, Survey, optimal_design
from tests.inside.publish import SURVEY_TYPE, pae, seal

SEED = bytes(range(32))
KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(SEED))
SURVEY = Survey(
    name="clean-sport",
    version=3,
    title="Clean sport",
    publisher="Example Institute",
    collector="https://collect.example.org/reports",
    expires=datetime(2100, 1, 1, tzinfo=UTC),
    questions=[
        Question(id="q1", attribute="doped", text="Have you ever doped – knowingly?", design=optimal_design("ln 3")),
        Question(id="q2", attribute="pressed", text="Were you pressed to?", design=optimal_design(1), rounds=2),
    ],
    segments={"sport": ["run", "ski"]},
)
REPORT = Report(
    survey=SURVEY.digest,
    question="q1",
    design=SURVEY.questions[0].design,
    answer="1",
    id="00112233445566778899aabbccddeeff",
    segments={"sport": "ski"},
)


def blocks() -> dict[str, str]:
    """The blocks of the page by their file names, without a final newline."""
    payload, envelope, report = SURVEY.payload(), seal(SURVEY.payload(), [KEY]), REPORT.to_bytes()
    signed = pae(SURVEY_TYPE, payload)
    identities = [
        f"seed      {SEED.hex()}",
        f"public    {KEY.public.raw.hex()}",
        f"keyid     {KEY.public.key_id}",
    ]
    request = [
        "POST /reports HTTP/1.1",
        "Host: 127.0.0.1:8000",
        "Accept-Encoding: identity",
        f"Content-Length: {len(report)}",
        "Content-Type: application/json",
        "User-Agent: rrcollect",
        "Accept: application/json",
        "",
        report.decode(),
    ]
    return {
        "key.txt": "\n".join(identities),
        "payload.json": payload.decode(),
        "digest.txt": f"{len(payload)} bytes, SHA-256 {SURVEY.digest}",
        "signed.txt": f"{signed[: signed.index(b'{')].decode()}{{…",
        "signature.txt": f"{len(signed)} bytes, SHA-256 {hashlib.sha256(signed).hexdigest()}\n{KEY.sign(signed).hex()}",
        "envelope.json": envelope.decode(),
        "report.json": report.decode(),
        "request.txt": "\n".join(request),
    }


if __name__ == "__main__":
    for name, text in blocks().items():
        sys.stdout.write(f"```{name.rpartition('.')[2].replace('txt', 'text')} {name}\n{text}\n```\n\n")

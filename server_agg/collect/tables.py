"""The tables of a store, as the steps that make them, and the statements that add to them.

| table | holds |
|---|---|
| `surveys` | signed envelopes; a name and version of a publisher is one survey |
| `epoch` | one line: the database's name in the folder of keys, which database bears it, its current key, keep rows? |
| `intake` | waiting reports, sealed (`epoch_key`): one content per transaction that took some |
| `gathered` | sealed: sums of folded reports whose segments have no crowd yet, and their rows if they are kept |
| `marks` | marks of the ids and tickets that wait, and the place in the intake where each is |
| `counts` | how many reports have an answer, by question, design, segments and round |
| `released` | the same for strangers: what is public, by the labels of blocks (`release`) |
| `releases` | one line per release: when, the headline's round, and the smallest crowd of each question |
| `ids` | ids that were folded, with the number of their survey |
| `reports` | rows that were folded, if the owner keeps rows |
| `invites`, `spent` | hashes of tickets: those that are good, and those that were spent on a question and round |

All but `surveys`, `epoch`, `intake` and `gathered` are clustered by their keys where the database can do it (SQLite),
and written in the order of their keys where it cannot (PostgreSQL).
"""

from __future__ import annotations

from rrcollect.publish.report import ReportRow

COLUMNS = ", ".join(ReportRow._fields)
PAGE_COLUMNS = (*[name for name in ReportRow._fields if name != "id"], "id")
BETWEEN = "\x1f"
STEPS = (
    (
        "CREATE TABLE surveys (number {number}, digest TEXT NOT NULL UNIQUE, envelope {bytes} NOT NULL, keys TEXT NOT "
        "NULL, publisher TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, minimum BIGINT NOT NULL, pilot "
        "INTEGER NOT NULL, closed INTEGER NOT NULL DEFAULT 0, withdrawal {bytes}, UNIQUE (publisher, name, version))",
        "CREATE TABLE epoch (database TEXT NOT NULL, identity TEXT, key TEXT NOT NULL, keep_rows INTEGER NOT NULL)",
        "CREATE TABLE intake (place {number}, content {bytes} NOT NULL)",
        "CREATE TABLE gathered (content {bytes} NOT NULL)",
        "CREATE TABLE marks (mark {bytes} PRIMARY KEY, ticket {bytes}, place BIGINT NOT NULL) {clustered}",
        "CREATE UNIQUE INDEX marks_by_ticket ON marks (ticket) WHERE ticket IS NOT NULL",
        "CREATE TABLE counts (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, segments TEXT NOT NULL, answer TEXT NOT NULL, n BIGINT NOT NULL, published BIGINT NOT NULL DEFAULT 0, "
        "PRIMARY KEY (survey, question, round, design, segments, answer)) {clustered}",
        "CREATE TABLE released (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, segments TEXT NOT NULL, answer TEXT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (survey, question, round, "
        "design, segments, answer)) {clustered}",
        "CREATE TABLE releases (survey TEXT NOT NULL, number INTEGER NOT NULL, moment BIGINT NOT NULL, headline "
        "INTEGER, crowds TEXT NOT NULL, PRIMARY KEY (survey, number)) {clustered}",
        "CREATE TABLE ids (id {bytes} PRIMARY KEY, survey INTEGER NOT NULL) {clustered}",
        "CREATE TABLE reports (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, answer TEXT NOT NULL, id TEXT PRIMARY KEY, ticket TEXT, segments TEXT NOT NULL) {clustered}",
        "CREATE TABLE invites (survey TEXT NOT NULL, ticket TEXT NOT NULL, PRIMARY KEY (ticket, survey)) {clustered}",
        "CREATE TABLE spent (survey TEXT NOT NULL, ticket TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT "
        "NULL, PRIMARY KEY (ticket, survey, question, round)) {clustered}",
    ),
)
ADD_SURVEY = (
    "INSERT INTO surveys (digest, envelope, keys, publisher, name, version, minimum, pilot) VALUES (?, ?, ?, ?, ?, ?, "
    "?, ?) ON CONFLICT DO NOTHING"
)
ADD_INVITE = "INSERT INTO invites (survey, ticket) VALUES (?, ?) ON CONFLICT DO NOTHING"
CELL = "survey, question, round, design, segments, answer"
ADD_COUNT = (
    f"INSERT INTO counts ({CELL}, n, published) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
    f"ON CONFLICT ({CELL}) DO UPDATE SET n = counts.n + excluded.n, published = counts.published + excluded.published"
)
ADD_RELEASED = (
    f"INSERT INTO released ({CELL}, n) VALUES (?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
    f"ON CONFLICT ({CELL}) DO UPDATE SET n = released.n + excluded.n"
)
READ_COUNTS = f"SELECT {CELL}, n FROM counts"  # noqa: S608
READ_UNPUBLISHED = f"SELECT {CELL}, n - published FROM counts WHERE survey = ? AND n > published"  # noqa: S608
MARK_PUBLISHED = (
    "UPDATE counts SET published = published + ? WHERE survey = ? AND question = ? AND round = ? AND design = ? AND "
    "segments = ? AND answer = ?"
)
ADD_RELEASE = "INSERT INTO releases (survey, number, moment, headline, crowds) VALUES (?, ?, ?, ?, ?)"
LAST_RELEASE = "SELECT number, moment, headline, crowds FROM releases WHERE survey = ? ORDER BY number DESC LIMIT 1"
READ_RELEASED = (  # in one statement, so that it is one committed state
    "SELECT releases.number, moment, headline, crowds, question, round, design, segments, answer, n FROM releases LEFT "
    "JOIN released ON released.survey = releases.survey WHERE releases.survey = ? AND releases.number = (SELECT "
    "MAX(number) FROM releases WHERE survey = ?)"
)

"""`rrcollect invite`: the owner's list, the sorted hashes, and what is refused."""

import csv
import os

from tests.inside.publish import check_invite, ticket_hashes
from tests.support.command_line import main
from tests.support.devices import KEY, envelope, question, survey


def signed(folder, **changes):
    asked = question(rounds=3), question(id="q2", attribute="b", text="Another?")
    (folder / "survey.json").write_bytes(envelope(*asked, **changes))
    (folder / "key.pub").write_bytes(KEY.public.to_pem())
    return survey(*asked, **changes)


def asked(folder, *more):
    given = [
        folder / "survey.json",
        "--trust",
        folder / "key.pub",
        "--out",
        folder / "list.csv",
        "--hashes",
        folder / "hashes",
    ]
    return main(["invite", *map(str, given), *more])


def test_the_list_is_the_owners_and_the_hashes_are_of_all_tickets_sorted(tmp_path, capsys):
    made = signed(tmp_path, invite_only=True, origins=["https://survey.example.org"])
    assert asked(tmp_path, "--count", "20") == 0
    said = capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "list.csv").read_text().splitlines()))
    invites = [row["invite"] for row in rows]
    assert len({check_invite(one) for one in invites}) == 20
    assert all(row["link"] == f"https://survey.example.org/s/{made.digest}#invite={row['invite']}" for row in rows)
    hashes = (tmp_path / "hashes").read_text().split()
    assert hashes == ticket_hashes(invites, made) == sorted(hashes)
    assert len(set(hashes)) == 20 * 4
    assert os.stat(tmp_path / "list.csv").st_mode & 0o777 == 0o600
    assert not any(one in said for one in invites)
    assert "can tell which answers came from one invite" in said
    assert asked(tmp_path, "--count", "20") != 0  # nothing is overwritten


def test_a_survey_without_a_page_gives_no_links_and_an_open_one_no_invites(tmp_path, capsys):
    signed(tmp_path, invite_only=True)
    assert asked(tmp_path, "--count", "1") == 0
    assert (tmp_path / "list.csv").read_text().splitlines()[1].endswith(",")
    for bad, words in (("0", "1 to 1000000"), ("1000001", "1 to 1000000"), ("250001", "at most 250000")):
        assert asked(tmp_path, "--count", bad, "--force") == 2
        assert words in capsys.readouterr().err
    signed(tmp_path)
    assert asked(tmp_path, "--count", "1", "--force") == 2
    assert "invite_only = true" in capsys.readouterr().err

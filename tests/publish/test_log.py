"""The log: roots and proofs by the reference data of Certificate Transparency and by enumeration; notes by C2SP's."""

from __future__ import annotations

import base64
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as some

from rrcollect import ParameterError, PublicKey, SigningKey
from rrcollect.errors import NotLogged, RRCollectError, SplitLog
from tests.inside.publish import log, tree
from tests.support.logs import LOG, NAME, OWN, SEEN_BY, WITNESSES, MemoryLog, stored

# github.com/transparency-dev/merkle, testonly: the inputs, the roots of the first 1, 2, … of them, and four proofs.
INPUTS = [bytes.fromhex(one) for one in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"
)]  # fmt: skip
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
CONSISTENT = {
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
MOST = 33


def grown(size):
    made = MemoryLog([i.to_bytes(4, "big") for i in range(size)])
    return made, [tree.leaf_hash(one) for one in made.entries]


def test_the_reference_roots_and_proofs_of_certificate_transparency():
    leaves = [tree.leaf_hash(one) for one in INPUTS]
    whole = tree.Tree(8, stored(leaves))
    assert [whole.root(n).hex() for n in range(1, 9)] == ROOTS
    for (old, new), proof in CONSISTENT.items():
        assert [one.hex() for one in tree.Tree(new, stored(leaves)).consistency(old)] == proof
        tree.check_consistency(old, bytes.fromhex(ROOTS[old - 1]), new, bytes.fromhex(ROOTS[new - 1]),
                               [bytes.fromhex(one) for one in proof])  # fmt: skip


def test_every_path_and_every_consistency_proof_of_small_trees_holds_and_no_other():
    _, leaves = grown(MOST)
    roots = [tree.joined(leaves[:n]) for n in range(MOST + 1)]
    for size in range(1, MOST + 1):
        whole = tree.Tree(size, stored(leaves))
        assert whole.root() == roots[size]
        for index in range(size):
            path = whole.inclusion(index)
            tree.check_inclusion(leaves[index], index, size, roots[size], path)
            for wrong in (index - 1, index + 1, size):
                with pytest.raises(NotLogged):
                    tree.check_inclusion(leaves[index], wrong, size, roots[size], path)
            for changed in (*_changed(path), [*path, b"x" * 32]):
                with pytest.raises(NotLogged):
                    tree.check_inclusion(leaves[index], index, size, roots[size], changed)
        for old in range(size + 1):
            proof = whole.consistency(old)
            tree.check_consistency(old, roots[old], size, roots[size], proof)
            for changed in (*_changed(proof), [*proof, b"x" * 32]):
                with pytest.raises(SplitLog):
                    tree.check_consistency(old, roots[old], size, roots[size], changed)
            for first, second in ((b"x" * 32, roots[size]), (roots[old], b"x" * 32)):
                if first != roots[old] or (old not in (0, size)):
                    with pytest.raises(SplitLog):
                        tree.check_consistency(old, first, size, second, proof)


def _changed(hashes):
    """The proof with one hash changed, left out, or moved."""
    for i in range(len(hashes)):
        yield [*hashes[:i], bytes([hashes[i][0] ^ 1]) + hashes[i][1:], *hashes[i + 1 :]]
        yield [*hashes[:i], *hashes[i + 1 :]]
    for i, j in itertools.combinations(range(len(hashes)), 2):
        if hashes[i] != hashes[j]:
            yield [*hashes[:i], hashes[j], *hashes[i + 1 : j], hashes[i], *hashes[j + 1 :]]


@pytest.mark.parametrize("size", [255, 256, 257, 511, 512, 70_000])
def test_large_trees_are_read_from_tiles(size):
    made, leaves = grown(size)
    known, whole = {}, made.tree()
    made.tree = lambda: whole  # type: ignore[method-assign]

    def fetch(name):
        known.setdefault(name, made.fetch(name))
        return known[name]

    reader, root = log.LogReader(fetch), whole.root()
    assert root == tree.joined(leaves)
    for index in (0, size // 3, size - 1):
        tree.check_inclusion(leaves[index], index, size, root, reader.tree(size).inclusion(index))
    for old in (1, 200, 256, size - 1):
        if old < size:
            tree.check_consistency(old, whole.root(old), size, root, reader.tree(size).consistency(old))
    assert len(known) <= 12  # of 274 tiles


def test_the_key_and_the_note_of_c2sp_are_read():
    key = log.LogKey.read("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
    signature = base64.b64decode(
        "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM="
    )
    assert signature[:4] == key.id
    assert key.key.verifies(signature[4:], b"This is an example message.\n")


def test_a_checkpoint_is_read_with_its_witnesses():
    state = log.Checkpoint(NAME, 5, b"r" * 32)
    note = state.signed(OWN) + "".join(state.cosigned(k.name, w, 7) for k, w in zip(SEEN_BY, WITNESSES, strict=True))
    assert log.read_checkpoint(note, LOG, SEEN_BY[:2]) == (state, frozenset(SEEN_BY[:2]))
    assert log.read_checkpoint(state.signed(OWN), LOG) == (state, frozenset())


@pytest.mark.parametrize("change", [
    lambda note: note.replace("\n5\n", "\n6\n"),
    lambda note: note.replace("\n5\n", "\n05\n"),
    lambda note: note.replace(NAME, "other.example.org"),
    lambda note: note.replace("witness.example/0", "witness.example/1"),
    lambda note: note + note.split("\n")[4] + "\n",
    lambda note: note.removesuffix("\n"),
    lambda note: note + "\n",
    lambda note: note.replace("—", "-"),
    lambda note: "",
    lambda note: note[: len(note) // 2],
    lambda note: note + "— x AAAA\n" * 17,
    lambda note: note + "x" * 9000,
])  # fmt: skip
def test_a_changed_note_is_refused(change):
    state = log.Checkpoint(NAME, 5, b"r" * 32)
    note = state.signed(OWN) + "".join(state.cosigned(k.name, w, 7) for k, w in zip(SEEN_BY, WITNESSES, strict=True))
    rule = log.LogRule(LOG, frozenset(SEEN_BY), 3)
    try:
        found, seen = log.read_checkpoint(change(note), LOG, SEEN_BY)
    except NotLogged:
        return
    assert found == state
    assert len(seen) < rule.needed  # a name that nobody knows is passed over, and then a witness is missing


def test_a_cosignature_is_worthless_as_a_signature_of_the_log_and_the_other_way_round():
    state = log.Checkpoint(NAME, 5, b"r" * 32)
    with pytest.raises(NotLogged, match="has not signed"):
        log.read_checkpoint(f"{state.text}\n" + state.cosigned(NAME, OWN, 1), LOG)
    twice = log.LogKey(NAME, OWN.public, log.WITNESS)
    assert log.read_checkpoint(state.signed(OWN), LOG, [twice])[1] == frozenset()


def proof_of(about, *, by=OWN.public, others=6, witnesses=0):
    """A proof that a survey is in a log of so many others."""
    made = MemoryLog([b"other %d" % i for i in range(others)])
    made.entries.insert(2, log.survey_entry(by, *about))
    return log.LogProof.read(made.proof(by, 2, made.note(witnesses=witnesses))), made.state()


ABOUT = ("clean-sport", 1, "ab" * 32)


def test_a_proof_shows_that_a_survey_is_in_the_log_and_who_saw_it():
    proof, state = proof_of(ABOUT, witnesses=2)
    assert log.LogProof.read(proof.text) == proof
    assert log.LogRule(LOG, frozenset(SEEN_BY), 2).check(proof.text, [proof.key], ABOUT) == (state, 2)
    with pytest.raises(NotLogged, match="2 of 3 needed witnesses"):
        log.LogRule(LOG, frozenset(SEEN_BY), 3).check(proof.text, [proof.key], ABOUT)


@pytest.mark.parametrize("about", [("clean-sport", 2, ABOUT[2]), ("other", 1, ABOUT[2]), (*ABOUT[:2], "cd" * 32)])
def test_a_proof_of_another_survey_is_refused(about):
    proof, _ = proof_of(ABOUT)
    with pytest.raises(NotLogged):
        log.LogRule(LOG).check(proof.text, [proof.key], about)


def test_a_proof_by_a_key_that_did_not_sign_is_refused_and_so_is_none():
    proof, _ = proof_of(ABOUT)
    with pytest.raises(NotLogged, match="has not signed this survey"):
        log.LogRule(LOG).check(proof.text, [SigningKey.generate().public], ABOUT)
    with pytest.raises(NotLogged, match="no proof"):
        log.LogRule(LOG).check(None, [proof.key], ABOUT)


@given(place=some.integers(0, 2000), byte=some.integers(32, 126), cut=some.booleans())
def test_no_changed_proof_is_taken_and_none_is_an_unforeseen_error(place, byte, cut):
    proof, _ = proof_of(ABOUT, by=PublicKey(b"k" * 32))
    at = place % len(proof.text)
    changed = proof.text[:at] if cut else proof.text[:at] + chr(byte) + proof.text[at + 1 :]
    if changed != proof.text:
        with pytest.raises(NotLogged):
            log.LogRule(LOG).check(changed, [proof.key], ABOUT)


@given(text=some.text(max_size=300) | some.binary(max_size=300).map(lambda b: b.decode("latin-1")))
def test_whatever_is_no_proof_is_refused(text):
    for read in (log.LogProof.read, lambda note: log.read_checkpoint(note, LOG), log.LogKey.read):
        with pytest.raises(RRCollectError):
            read(text)


@pytest.mark.parametrize("text", [None, 7, "", "a+b+c", LOG.text + " ", LOG.text[:-1], LOG.text.replace(NAME, "other"),
                                  SEEN_BY[0].text])  # fmt: skip
def test_what_is_no_key_of_a_log_is_refused(text):
    with pytest.raises(ParameterError):
        log.LogKey.read(text)


def test_the_entries_are_read_and_counted_by_publisher_and_name():
    publisher, other = (SigningKey.generate().public for _ in range(2))
    entries = [log.survey_entry(publisher, "clean-sport", v, f"{v:064x}") for v in range(1, 300)]
    entries += [log.survey_entry(other, "clean-sport", 1, "0" * 64), log.survey_entry(publisher, "else", 1, "1" * 64)]
    fetch, state = MemoryLog(entries).fetch, MemoryLog(entries).state()
    assert log.LogReader(fetch).leaves(state, publisher, "clean-sport") == 299
    for wrong in (lambda name: fetch(name)[:-1], lambda name: fetch(name) + b"\0\0", lambda name: b"",
                  lambda name: fetch(name).replace(b"else", b"elsf")):  # fmt: skip
        with pytest.raises(SplitLog):
            log.LogReader(wrong).leaves(state, publisher, "clean-sport")

"""The browser client in Node: the shared vectors, its own tests, and its exact arithmetic against Python's."""

import json
import math
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrcollect import Design, Epsilon, ParameterError, SetDesign
from tests.inside.collect import pages
from tests.inside.design import threshold
from tests.support.collector_running import ROOT, RunningCollector, publication

HERE = Path(__file__).parent / "js"


def node(*arguments, **options):
    return subprocess.run(
        ["node", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT, **options
    )


@pytest.mark.parametrize(
    "name",
    [
        "vectors",
        "client",
        "answering",
        "kinds",
        "delivery",
        "ledger",
        "log",
        "oblivious",
        "misbehaving",
        "clocks",
        "words",
        "offline",
    ],
)
def test_the_tests_in_node_pass(name):
    done = node("--test", HERE / f"{name}.test.mjs")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout
    assert "# pass 0" not in done.stdout


PARSED = """
import { readFileSync } from "node:fs";
import vm from "node:vm";
const parses = (text) => { try { return Boolean(new vm.SourceTextModule(text)); } catch { return false; } };
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(parses)));
"""


def test_modules_are_served_whole():
    texts = [pages.asset(name)[0].decode() for name in pages.ASSETS if name.endswith(".mjs")]
    cut = [f"{text}{{" for text in texts]  # the check can fail
    words = ("--no-warnings", "--experimental-vm-modules", "--input-type=module", "--eval", PARSED)
    done = node(*words, input=json.dumps(texts + cut))
    assert json.loads(done.stdout) == [True] * len(texts) + [False] * len(cut), done.stderr
    assert len(texts) > 50


def exact(a, b, p00, p11, delta):
    """What Python says about the same numbers."""
    design = Design(p00, p11)
    try:
        first = Epsilon(a)
    except ParameterError:
        return {"a": None}
    second = Epsilon(b)
    ratio = design.worst_likelihood_ratio
    return {
        "a": str(first),
        "compare": (first > second) - (first < second),
        "sum": str(first + second),
        "keeps": design.satisfies(first, delta),
        "ratio": None if ratio == math.inf else str(ratio),
    }


fractions = st.fractions(min_value=0, max_value=1, max_denominator=2**70)
written = st.one_of(
    st.fractions(min_value=-3, max_value=60, max_denominator=2**40).map(str),
    st.fractions(min_value=0, max_value=10**6, max_denominator=10**6).map("ln({})".format),
    st.tuples(st.fractions(min_value=-2, max_value=9, max_denominator=99), st.fractions(min_value=1, max_value=99)).map(
        lambda pair: f"{pair[0]} + ln({pair[1]})"
    ),
    st.sampled_from(["ln 3", "0.1", "1e-3", "ln(3", "1e9999", "2e5", "nan", "", "ln(0)", "-0", " 1/2 ", "1/ 2"]),
)
good = st.integers(0, 10**12).map(lambda n: str(Fraction(n, 10**11)))


@settings(max_examples=4)
@given(st.lists(st.tuples(written, good, fractions, fractions, fractions), min_size=30, max_size=60))
def test_exact_arithmetic_is_pythons(cases):
    cases = [(a, b, p00, p11, d) for a, b, p00, p11, d in cases if p00 + p11 != 1]
    tight = Design("3/4", "3/4")  # at the boundary, where floats would guess
    cases += [("ln(3)", "1098612288668109691/1000000000000000000", tight.p00, tight.p11, Fraction(0))]
    cases += [("1098612288668109692/1000000000000000000", "1/2", tight.p00, tight.p11, Fraction(0))]
    lines = [json.dumps(dict(zip(("a", "b", "p00", "p11", "delta"), map(str, case), strict=True))) for case in cases]
    done = node(HERE / "oracle.mjs", input="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said) == len(cases)
    for case, theirs in zip(cases, said, strict=True):
        ours = exact(*case)
        assert {key: theirs[key] for key in ours} == ours, case
        if ours["a"] is not None:
            assert theirs["float"] == pytest.approx(float(Epsilon(case[0])), rel=1e-9, abs=1e-12)


sized = st.integers(2, 200).flatmap(lambda k: st.tuples(st.just(k), st.integers(1, k - 1), fractions, fractions, good))


@settings(max_examples=4)
@given(st.lists(sized, min_size=20, max_size=40))
def test_designs_of_sets_are_pythons(cases):
    made = [(SetDesign(k, w, Fraction(w, k) + (1 - Fraction(w, k)) * share), delta, epsilon)
            for k, w, share, delta, epsilon in cases if share]  # fmt: skip
    made += [(design, 0, str(design.tight_epsilon)) for design, *_ in made if design.tight_epsilon]  # just kept
    made += [(design.to_grid(), 0, "1") for design in (SetDesign(4, 1, "1/2"), SetDesign(10, 3, "5/9"))]
    asked = [{**design.to_wire(), "a": epsilon, "b": epsilon, "delta": str(delta)} for design, delta, epsilon in made]
    done = node(HERE / "oracle.mjs", input="\n".join(map(json.dumps, asked)) + "\n")
    assert done.returncode == 0, done.stderr
    for (design, delta, epsilon), line in zip(made, done.stdout.splitlines(), strict=True):
        said, ratio = json.loads(line), design.worst_likelihood_ratio
        ours = {"keeps": design.satisfies(epsilon, delta), "ratio": None if ratio == math.inf else str(ratio),
                "c": str(design.c), "column": design.column.text, "text": design.text, "grid": design.on_grid,
                "blank": True}  # fmt: skip
        assert {key: said[key] for key in ours} == ours, (design, delta, epsilon)


doubles = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.one_of(doubles, st.fractions(max_denominator=10**30), st.decimals(allow_nan=False, allow_infinity=False))
exact_numbers = st.one_of(doubles.map(Fraction), st.fractions())
ends = st.tuples(exact_numbers, exact_numbers)
grid = st.integers(1, 2**64).map(lambda n: Fraction(n, 2**64))


@settings(max_examples=4)
@given(st.lists(st.tuples(grid, grid, ends, numbers), min_size=30, max_size=60))
def test_numbers_are_drawn_as_in_python(cases):
    """The last draw that says 1 and the first that says 0, for doubles and exact numbers inside and outside a range."""
    given_to_node = []
    for p00, p11, (one, other), number in cases:
        if p00 + p11 <= 1 or one == other:
            continue
        design, low, high = Design(p00, p11), min(one, other), max(one, other)
        limit = threshold(number, design.applied, low, high, clip=True)
        shown = {"double": repr(number)} if isinstance(number, float) else str(number)
        kind = {"low": str(low), "high": str(high), "clip": True}
        for drawn in {max(0, limit - 1), min(limit, 2**64 - 1)}:
            case = {"design": design.to_wire(), "draw": f"{drawn:016x}", "kind": kind, "numbers": [shown]}
            given_to_node.append((case, [str(int(drawn < limit))]))
    done = node(ROOT / "tests/support/draws.mjs", input=json.dumps([case for case, _ in given_to_node]))
    assert done.returncode == 0, done.stderr
    for (case, wanted), said in zip(given_to_node, json.loads(done.stdout), strict=True):
        assert said == wanted, case


def test_node_delivers_to_a_collector(tmp_path):
    from tests.support.devices import KEY, PUBLISHER

    with RunningCollector(str(tmp_path / "a.sqlite3")) as collector:
        digest = collector.publish(publication(collector=f"{collector.url}/reports"))
        code = f"""
            import {{ FileLedger }} from {json.dumps((ROOT / "rrcollect/web/src/answer/ledger/file.mjs").as_uri())};
            import * as rr from {json.dumps((ROOT / "rrcollect/web/src/index.mjs").as_uri())};
            const policy = new rr.Policy([{{ name: {json.dumps(PUBLISHER)}, keys: ["{KEY.public.raw.hex()}"] }}]);
            const ledger = new FileLedger({json.dumps(str(tmp_path / "ledger"))});
            const client = new rr.Client({{ ledger, attributes: ["doped"], policy, spread: 0 }});
            const got = await fetch("{collector.url}/surveys/{digest}");
            const survey = await client.accept(new Uint8Array(await got.arrayBuffer()));
            await client.answer(survey, "q1", true);
            const result = await client.deliver();
            console.log(JSON.stringify(result));
        """
        done = node("--input-type=module", "-e", code)
        assert json.loads(done.stdout)["delivered"] == 1, done.stderr
        assert collector.kept() == 1

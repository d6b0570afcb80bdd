"""A source of one given draw, and samplers with planted bugs that every judge of the sampler must catch."""

from tests.support.tape import limits_of


def feeding(draw: int):
    return lambda n: draw.to_bytes(8, "big") if n == 8 else b""


def seven_bit(truth, design, *, source):
    """A planted bug: a sampler that rounds its probability to 1/128, as RAPPOR's did."""
    limit = round(float(design.matrix[truth][1]) * 128)
    return int(source(8)[0] >> 1 < limit)


def biased(truth, design, *, source):
    """A planted bug: "<=" instead of "<"."""
    return int(int.from_bytes(source(8), "big") <= limits_of(design)[truth])

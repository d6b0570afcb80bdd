"""What hypothesis draws: promises, prevalences and matrices, exact, with the corners of their ranges."""

from fractions import Fraction

from hypothesis import strategies as st

from rrcollect import Design, Epsilon

unit = st.fractions(min_value=0, max_value=1, max_denominator=10**6)
rational_epsilons = st.fractions(min_value=Fraction(1, 100), max_value=8, max_denominator=1000).map(Epsilon)
log_epsilons = st.fractions(min_value=Fraction(101, 100), max_value=3000, max_denominator=100).map(Epsilon.of_ratio)
epsilons = st.one_of(rational_epsilons, log_epsilons)
deltas = st.one_of(
    st.just(Fraction(0)),
    st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(9, 10), max_denominator=1000),
)
positive_deltas = deltas.filter(bool)
prevalences = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]),
    st.fractions(min_value=0, max_value=1, max_denominator=200),
)
designs = st.tuples(unit, unit).filter(lambda p: sum(p) != 1).map(lambda p: Design(*p))


@st.composite
def intervals(draw):
    low, high = sorted([draw(prevalences), draw(prevalences)])
    return low, high

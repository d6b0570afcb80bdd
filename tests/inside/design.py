"""The inside of rrcollect.design, as the tests see it."""

from rrcollect.design import DESIGNS, bulk_bits, from_text, from_wire
from rrcollect.design.bins import BinDesign, worst_variance
from rrcollect.design.many_options import Candidate, best_for_options, best_sets, best_size, made_for
from rrcollect.design.mechanism import GRID, Mechanism
from rrcollect.design.sampling import Source, threshold
from rrcollect.design.sentences import PRACTICAL_PROOF, Said
from rrcollect.design.several import SeveralDesign
from rrcollect.design.space import Space
from rrcollect.design.special import prior_mean
from rrcollect.design.terms import Curve

"""The inside of server_agg.estimates, as the tests see it."""

from server_agg.estimates.central_privacy import central_delta
from server_agg.estimates.combination import Combination
from server_agg.estimates.finite import finite_lower
from server_agg.estimates.interval import Kind
from server_agg.estimates.likelihood import deviance_lower
from server_agg.estimates.methods import METHODS, WALD_WARNING, methods_for, unclipped_exact
from server_agg.estimates.numerics import exact_lower
from server_agg.estimates.score import Groups
from server_agg.estimates.small_counts import p_value

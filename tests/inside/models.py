"""The inside of server_agg.models, as the tests see it."""

from server_agg.models.links import LAWS
from server_agg.models.regression import LikelihoodFit
from server_agg.models.simulation import simulate_answers, simulate_survey, simulate_truths

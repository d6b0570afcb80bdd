"""The public names of server_agg.models, one line each: `rrcollect.lazy` reads them here, and so do type checkers."""

from server_agg.models.association import correlate as correlate
from server_agg.models.cheaters import cheating as cheating
from server_agg.models.cheating_models import fit_cheating as fit_cheating
from server_agg.models.classical import kuk as kuk
from server_agg.models.classical import moors as moors
from server_agg.models.fits import side_by_side as side_by_side
from server_agg.models.graphs import graph as graph
from server_agg.models.mixed import fit_mixed as fit_mixed
from server_agg.models.predictor import fit_predictor as fit_predictor
from server_agg.models.regression import fit as fit
from server_agg.models.simulated_power import power as power
from server_agg.models.tables import table as table

"""The public names of server_agg.sampling, one line each: `rrcollect.lazy` reads them here, and so do type checkers."""

from server_agg.sampling.calibration import post_stratify as post_stratify
from server_agg.sampling.calibration import rake as rake
from server_agg.sampling.estimating import estimate as estimate
from server_agg.sampling.item_counts import list_experiment as list_experiment
from server_agg.sampling.replication import replicates as replicates
from server_agg.sampling.response import response_weights as response_weights

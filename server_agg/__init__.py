"""server_agg: from counted answers to a proportion that can be published, with honest error bars.

The flow, and where each step lives:

    count      server_agg.count          exact counts by question × design × segment × round
    batch      server_agg.batch          the same from files, frames and databases of any size
    estimate   server_agg.estimates      the unbiased value and what its bar covers
    compare    server_agg.comparisons    groups, segments and rounds side by side
    sample     server_agg.sampling       weights, strata, clusters, calibration, non-response; list experiments
    plan       server_agg.plan           what n, what margin, what ε, rehearsed
    reanalyse  server_agg.own_data       data from anywhere: a column of answers in a frame or a file
    explain    server_agg.models         regression, association, cheating, power by simulation
    publish    server_agg.survey_page    what was found about a survey, as its results page shows it
    collect    server_agg.collect        the service that takes reports in (extra `server`)

Names are loaded when first used; SciPy (extra `estimate`) when the first bar is asked for.

>>> from rrcollect import optimal_design
>>> import server_agg
>>> result = server_agg.estimate(server_agg.Tally(optimal_design(1), n=1000, counts=400))
>>> print(result.sentence())
28.4 % (95 % exact interval 21.8–35.1 %), n = 1000, ε = 1; target: the population
"""

from rrcollect.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)

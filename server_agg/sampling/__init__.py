"""Samples of people: weights, strata, clusters, finite populations, calibration and non-response, together.

    estimate           shares, means, totals and differences of any sample, with one standard error
    rake               weights that meet known totals of several margins
    post_stratify      weights that meet known totals of cells
    response_weights   weights that make up for people who did not answer
    replicates         replicate weights that came with the data
    list_experiment    another indirect method: item counts

Read in this order: `sample` (how the people were drawn, and the variance of any sum over them), `replication` (the same
by jackknife and bootstrap), `calibration` and `response` (weights that meet known totals; who did not answer), `values`
(a number for each record whose sums are unbiased), `sample_estimate` (rows with their bars), `estimating` (`estimate`),
`item_counts` (`list_experiment`).
"""

from rrcollect.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)

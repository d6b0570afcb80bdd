"""Complex samples: weights, strata, clusters, finite populations, calibration and non-response, together.

Read in this order: `sample` (how the people were drawn, and the variance of any sum over them), `replicates` (the same
by jackknife and bootstrap), `calibration` and `response` (weights that meet known totals; who did not answer),
`figures` and `survey_figures` (estimates with their bars), `estimating` (`survey_estimate`), `list_experiment` (another
indirect method).
"""

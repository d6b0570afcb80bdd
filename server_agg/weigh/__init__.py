"""Respondents who stand for more than themselves.

Read in this order: `unbiased_values` (a number for each record whose sums are unbiased), `weights` (weighted shares and
totals), `strata` (known shares of the population).
"""

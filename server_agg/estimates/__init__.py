"""From counts to an estimate with an error bar, and what every bar covers.

Read in this order: `share` (one share by one design), `pooled` (by several), `combination` (options of a choice and
what is made of them), `counted` and `estimate` (the result); and for the bars `interval` (what a bar is asked for),
`methods` (the table of all), `finite`, `score`, `likelihood`, `credible`, `effective`, `small_counts`, with `numerics`
(and the guaranteed ends) below them.
"""

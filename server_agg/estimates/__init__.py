"""From counts to a prevalence with its error bar.

Read in this order: `one` (the estimate from one tally) and `diagnostics` (what stands beside it), `pooled` (several
designs), `kuk` and `moors` (two old procedures); then the bars: `interval` (the type), `problem` (an estimate as its
bars see it), `methods` (the table of all methods) and what its rows rest on, `exact`, `finite`, `score`, `likelihood`,
`credible`, `numerics`.
"""

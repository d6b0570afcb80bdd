"""Survey science: regression, association, cheating and power on randomised answers.

    fit             a randomised answer explained by covariates: logit, probit or linear probability, of a choice
                    multinomial or ordinal; also by formula
    fit_mixed       the same with an intercept of its own for every cluster
    fit_cheating    who has the attribute, and who follows the rules, by covariates
    fit_predictor   the truth behind one or several randomised answers as the explanation of an open outcome
    side_by_side    several fits in one table
    table           two questions of the same people: joint shares, independence, odds ratios, two waves
    correlate       a randomised answer with a number, or with another randomised answer
    cheating        respondents who do not follow the rules, from tallies
    graph           density, degrees and triangles of a graph whose edges were randomised
    power           power by rehearsal, and of a coefficient by formula
    kuk, moors      two classic procedures with estimates of their own

Read in this order: `columns`, `covariates`, `links`, `outcome`, `options`, `fitting` (the likelihood and its maximum),
`sampled`, `fits` (what every fit is), `inference`, `effects`, `regression`; `moments`, `joint`, `predictor`; `mixed`;
`cheating_models`, `cheaters`; `mixtures`, `asked`, `tables`; `association`, `graphs`, `classical`; `simulation`,
`simulated_power`.

`simulation` makes seeded, artificial data, never part of the privacy path; it must be asked for by its full name.
"""

from rrcollect.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)

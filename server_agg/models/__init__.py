"""Survey science: regression, association, tests and planning on randomised answers.

    regress     columns, links, outcome, fitting, regression  a randomised answer explained by covariates
    by moments  moments, linear                               linear probability; several randomised predictors
    in clusters random_intercept                              an intercept of its own for every cluster
    by formula  formulas                                      the same on a data frame
    conclude    inference, effects, summary                   errors, tests, intervals, predicted prevalence
    associate   predictor, joint, association, group_tests    a randomised answer as the explanation; groups; trends
    distrust    cheating, cheating_regression, sensitivity    respondents who do not follow the rules
    plan        power_simulation                              power by formula and by simulation
    rehearse    simulation                                    seeded, artificial data; never part of the privacy path

What people need often is in `server_agg` itself; `simulation` is only here, and must be asked for by its full name.
"""

"""Survey science: regression, association, tests and planning on randomised answers.

    regress     outcome, fitting, regression, formulas        a randomised answer explained by covariates
    conclude    inference, effects, summary                   errors, tests, intervals, predicted prevalence
    associate   predictor, association, group_tests           a randomised answer as the explanation; groups; trends
    distrust    cheating                                      respondents who do not follow the rules
    plan        power_simulation, figures                     power by formula and by simulation
    rehearse    simulation                                    seeded, artificial data; never part of the privacy path

What people need often is in `server_agg` itself; `simulation` is only here, and must be asked for by its full name.
"""

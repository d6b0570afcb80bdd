"""Before a survey: how many answers, what margin, what power, and a rehearsal.

Read in this order: `sample_size` (n, margin, ε, and the price of privacy), `power` (by formula), `rehearsal` (the same
survey over and over with a known truth and the real mechanism; power by simulation is `models.power_simulation`),
`central_privacy` (what a crowd of n adds to the local ε).
"""

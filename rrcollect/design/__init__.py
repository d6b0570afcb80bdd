"""The first step of the flow: which randomisation is optimal, exactly.

Read in this order: `parameters` (ε and δ as typed), `exponential` (e^ε without floats), `promise` ((ε, δ) and its
sums), `yes_no` (the published matrix), `mechanism` (the protocol and the one spelling), `optimal` (the theorems),
`unknown_prevalence` and `full_support` (choices where the theorems need help), `figures` (plots).
"""

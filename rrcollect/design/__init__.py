"""The first step of the flow: which lie is optimal, exactly.

Read in this order: `parameters` (ε and δ as typed), `exponential` (e^ε without floats), `matrix` (the published
matrix), `optimal` (the theorems), `unknown_prevalence` and `full_support` (choices where the theorems need help),
`figures` (plots).
"""

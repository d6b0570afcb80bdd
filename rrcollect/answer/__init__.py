"""The third step of the flow: on the respondent's device.

Read in this order: `policy` (the device's own rules), `acceptance` (bytes to a survey), `attributes` (what the app
answers about), `asking` (which question, which round), `draw` (one answer, or many), `ledger` (one draw for life),
`client` (all together), `clients` (many people on one machine).
"""

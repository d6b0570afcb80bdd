"""The third step of the flow: on the respondent's device.

Read in this order: `policy` (the device's own rules), `acceptance` (bytes to a survey), `attributes` (what the app
answers about), `draw` (one answer), `ledger` with `ledger_file` and `rollback_guard` (one draw for life), `budget`,
`client` (all together). `bulk` and `packed` randomise many truths at once, from one `keystream` per call; `bulk_ledger`
with `bulk_ledger_file` says who of many may be drawn.
"""

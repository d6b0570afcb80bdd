"""The last step on the device: the report, the outbox, the way out.

Read in this order: `report` (what leaves the device), `transport` (how), `simulated` (a whole collector in memory).
"""

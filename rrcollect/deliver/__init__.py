"""The last step on the device: the outbox and the way out.

Read in this order: `transport` (how a report leaves, and what a reply says), `schedule` (when), `outbox` (again until
it has arrived), `simulated` (a whole collector in memory).  What leaves is a `publish.report`.
"""

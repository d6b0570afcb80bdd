"""The last step on the device: the outbox and the way out.

Read in this order: `verdict` (what a reply says), `transport` (how a report leaves), `schedule` (when), `outbox` (again
until it has arrived), `simulated` (a whole collector in memory).  What leaves is a `publish.report`.
"""

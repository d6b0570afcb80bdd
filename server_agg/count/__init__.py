"""The first step of the aggregator: answers to exact counts.

Read in this order: `tally` (n answers by one design and their counts), `tallies` (many of them, by survey, question,
round and segment).
"""

"""The first step of the aggregator: answers to exact counts.

Read in this order: `tally` (n answers by one design, how many were 1), `tallies` (many of them, by survey, question,
round and segment), `from_answers` (made from answers, columns, reports), `packed` (eight answers in a byte).
"""

"""Groups and rounds side by side.

Read in this order: `pairs` (difference, ratio, the one test), `groups` (rows whose bars hold at once), `compare` (the
table of groups, pairs, small cells merged), `trend` (rounds in time, or groups with a score).
"""

"""Groups and rounds side by side.

Read in this order: `groups` (two of them: difference, ratio, test), `segments` (a table whose bars hold all at once,
small cells merged), `trends` (rounds in time).
"""

"""What people and programs read.

Read in this order: `tables` (four dialects), `drawing` (the one style of pictures), `words` (sentences), `result` (what
every result can do), `figures` (for planning).
"""

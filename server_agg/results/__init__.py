"""What every result is: rows with bars, shown to people and machines in one way.

Read in this order: `interval` (an error bar, how well a count fits, numbers in text), `row` (one estimate, on its
scale), `result` (all that a result shows), `tables` (four dialects of a table), `drawing` (pictures).
"""

"""What every result is: rows with bars, shown to people and machines in one way.

Read in this order: `interval` (an error bar, and how well a count fits), `row` (one estimate, on its scale), `result`
(all that a result shows), `words` (numbers in text), `tables` (four dialects of a table), `drawing` (pictures).
"""

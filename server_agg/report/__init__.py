"""What is left of the former results: `result`, the base of those that have no rows yet, and `figures` for planning."""

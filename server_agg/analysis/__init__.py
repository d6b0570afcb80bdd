"""Data that this project did not collect: a column of randomised answers in a frame or a file.

`analyse` is the one call for a column, `graphs` for answers about the edges of a graph.
"""

"""Data that this project did not collect: a column of randomised answers in a frame or a file.

Read in this order: `answers` (what counts as yes and no), `rows` (frames and files to counts), `analyse` (one call),
`carried` (reports in a column of another tool's table), `graphs` (answers about the edges of a graph).
"""

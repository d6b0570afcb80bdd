"""Batch aggregation: a night's reports, in files, frames or a table, become tallies by one call.

    columns      the flat row: what a report is in CSV, Parquet and frames      reasons    why a row is refused
    published    what the surveys allow, as tables and numbers                  summary    what was read, what it gave
    judging      the rules as SQL                 duck        files and relations on the embedded DuckDB
    frames       the rules as expressions         databases   the collector's table
    packed_file  a million answers in one file    writing     reports to JSONL, CSV, Parquet

`tallying.tally_reports` is the one entry.
"""

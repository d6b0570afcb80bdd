"""Batch aggregation: a night's reports, in files, frames or a table, become tallies by one call.

    sources        which files, which columns           survey_tables  what the surveys allow, numbered
    sql_readers    files and relations as rows          sql_rules      the rules as SQL
    duckdb_engine  both on the embedded DuckDB          frame_engine   the rules as expressions on frames
    object_stores  addresses such as s3://bucket        backends       engines that the contract was run on
    databases      the collector's table                summary        what was read, and what it gave
    packed_file    a million answers in one file        packed_batch   their tallies
    writing        reports to JSONL, CSV, Parquet       embedded       reports in a column of another tool's table

`tallying.tally_reports` is the one entry.
"""

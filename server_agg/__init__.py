"""server_agg: from collected answers to an unbiased estimate with error bars.

Nothing is here yet but the package: tallies and estimates come with the next releases (see CHANGELOG.md).
"""

"""The command line: `rrcollect` with commands in the order of the flow.

It lives here and not in the client package because it uses both, and imports point one way.

    main           the table of commands, the grammar, completion
    options        the options that commands share, and what they mean
    sources        keys, signed surveys, tallies and reports
    terminal       what a person sees and what a program reads; errors in one line; exit codes; files and pictures
    design plan publish answer randomise serve store tally estimate demo    one room per command; `publish` has keygen,
                   verify, withdraw and invite as well
    truths gateway what `randomise` reads and writes

A command's module imports nothing heavy until it runs: `--help` stays quick.
"""

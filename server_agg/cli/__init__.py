"""The command line: `rrcollect` with subcommands in the order of the flow.

It lives here and not in the client package because it uses both, and imports point one way.

    terminal     what a person sees and what a program reads; errors in one line; exit codes
    designing    design, compare          planning     plan
    publishing   keygen, publish, verify  answering    answer
    collecting   serve, export, tally     estimating   estimate

A subcommand's module imports nothing heavy until it runs: `--help` stays quick.
"""

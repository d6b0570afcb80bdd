"""The command line: `rrcollect` with subcommands in the order of the flow.

It lives here and not in the client package because it uses both, and imports point one way.

    terminal, progress     what a person sees and what a program reads; errors in one line; exit codes; bars
    sources, output        what the commands read and write
    designing    design, compare          planning       plan
    publishing   keygen, publish, verify
    answering    answer                   randomising    randomise (with truths, drawing)
    collecting   serve, export, tally     estimating     estimate
    plotting     plot                     simulating     simulate
    demonstrating  demo                   completing     completion

A subcommand's module imports nothing heavy until it runs: `--help` stays quick.
"""

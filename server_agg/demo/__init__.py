"""The demo: the whole flow on one machine with simulated respondents, whose truths the simulation knows.

population    the made-up people, and what is true of them
respondents   how they answer: real clients with a ledger each, and a gateway in bulk for the rest
collection    the real store and its judge of reports, without the web server
show          publish, answer, collect, tally, estimate; what came out, as one value
page          the report: one HTML file that loads nothing (its pictures: drawings, its words: passages)
web           the collector with its pages, and respondents who trickle in over HTTP
rehearsal     the same survey over and over, for `rrcollect simulate`
"""

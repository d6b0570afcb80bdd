"""The demo: the whole flow on one machine with simulated respondents, whose truths the simulation knows.

people        the made-up people, what is true of them, and how they answer: by real clients, and by a gateway in bulk;
              the real store and its judge of reports, without the web server
run           publish, answer, collect, tally, estimate; what came out, as one value
page          the report: one HTML file that loads nothing, from the rows and words of the results page
web           the collector with its pages, and respondents who trickle in over HTTP
"""

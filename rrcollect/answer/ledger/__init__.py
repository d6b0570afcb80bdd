"""One draw per attribute and round, for life.

Read in this order: `guard` (what notices an old copy), `file` (one operation on the file), `names` (what an attribute
is), `rules` (what follows from what a ledger holds), `ledger` (the ledger of one person), `bulk` (who of many people
was drawn).
"""

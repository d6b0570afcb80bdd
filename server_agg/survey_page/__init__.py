"""What was found about a survey, as its results page shows it.

Read in this order: `words` (numbers for a board), `released` (what is said beside them), `rounds` (one question in one
round, and the headline), `groups` (tables, differences and trends), `question` (one question), `results` (all of it).
"""

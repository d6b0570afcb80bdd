"""What was found about a survey, as its results page shows it.

Read in this order: `words` (numbers for a board), `released` (what is said beside them), `rounds` (one question in one
round, and the headline), `question` (one question: tables, differences and trends), `results` (all of it).
"""

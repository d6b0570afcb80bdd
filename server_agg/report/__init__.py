"""What people and programs read.

Read in this order: `result` (what every result can do), `words` (sentences and tables), `survey_results` (all that was
found about a survey), `figures` (plots with bars).
"""

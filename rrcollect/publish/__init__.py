"""The second step of the flow: a survey document, checked and signed; and the reports that answer it.

Read in this order: `canonical` (one text for one value), `question` (with its design), `composition` (what it costs),
`keys`, `envelope` (signatures), `survey` (the document, and all of it together), `report` (one answer as sent, and
which of them a survey allows).
"""

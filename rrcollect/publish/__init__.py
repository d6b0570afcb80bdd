"""The second step of the flow: a survey document, checked and signed; and the reports that answer it.

Read in this order: `canonical` (one text for one value), `survey` (the document), `composition` (what it costs),
`keys`, `envelope` (signatures), `publication` (all of it together), `report` (one answer as sent, and which
of them a survey allows).
"""

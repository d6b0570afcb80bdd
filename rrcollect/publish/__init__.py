"""The second step of the flow: a survey document, checked and signed.

Read in this order: `canonical` (one text for one value), `survey` (the document), `composition` (what it costs),
`keys`, `envelope` (signatures), `publication` (all of it together).
"""

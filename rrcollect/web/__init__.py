"""The browser client: one ES module without dependencies, the Python client's equal; see docs/browser.md.

It lies here so that the wheel carries it and a collector can serve it; no Python is in this folder.
"""

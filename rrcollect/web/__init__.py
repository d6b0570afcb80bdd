"""The browser client: one ES module without dependencies, the Python client's equal; see docs/browser.md.

It lies here so that the wheel carries it.  A collector serves the folder `element`, which `build.mjs` makes of it.
"""

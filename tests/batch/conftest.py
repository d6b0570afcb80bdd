"""One engine per family in `make test`: Polars, pandas and pyarrow are the frames; Dask is a part of `make reach`.

Its tests are the same ones; docs/reach.md says when they ran last.
"""

import os


def pytest_collection_modifyitems(config, items):
    if "RRCOLLECT_REACH" in os.environ:
        return
    rare = [item for item in items if item.nodeid.startswith("tests/batch/") and "dask" in item.nodeid]
    config.hook.pytest_deselected(items=rare)
    items[:] = [item for item in items if item not in rare]

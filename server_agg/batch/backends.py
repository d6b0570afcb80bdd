"""The engines that frames may come from: those that the contract was run on, and no others.

Rules
1. An engine that knows all the operations can still count wrong in silence: ClickHouse fills outer joins with defaults,
   ibis on Polars replaces the first match only.  So a frame of an engine that is not in `TESTED` is refused by name.
2. A name enters `TESTED` when the contract has held on it: `tests/support/batch_contract.py`, in `make test` or in
   `make reach`, with every reason of refusal, rounds, tickets, choices and numbers among the rows.
3. Files, databases and DuckDB relations are counted by DuckDB itself and need no row here.
"""

from __future__ import annotations

from typing import Any

from rrcollect.errors import ParameterError

TESTED = {
    "polars": "Polars, eager and lazy",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "dask": "Dask",
    "pyspark": "Spark 4 and 3.5",
    "pyspark[connect]": "Spark Connect",
    "ibis/duckdb": "DuckDB by ibis",
    "ibis/polars": "Polars by ibis",
    "ibis/clickhouse": "ClickHouse by ibis (a column `ticket` that is Nullable)",
}
HOW = "to use another engine, run the contract on it first: docs/batch.md, Another engine"


def backend_of(frame: Any) -> str:
    """The name of a narwhals frame's engine, as `TESTED` has it.

    >>> import narwhals.stable.v2 as nw, polars
    >>> backend_of(nw.from_native(polars.DataFrame()))
    'polars'
    """
    name = str(frame.implementation)
    return f"{name}/{frame.to_native().get_backend().name}" if name == "ibis" else name


def refuse_untested(frame: Any) -> None:
    """Raise if the contract was not run on the engine of this narwhals frame."""
    name = backend_of(frame)
    if name not in TESTED:
        raise ParameterError("source", f"a frame of {name}", f"frames of {', '.join(TESTED)}; {HOW}")

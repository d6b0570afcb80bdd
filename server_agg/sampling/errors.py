"""What can be wrong with a sample or its weights; each error says what was found and what would help."""

from __future__ import annotations

from rrcollect.errors import RRCollectError, shown


class SingleCluster(RRCollectError, ValueError):
    """A stratum from which one unit alone was drawn: nothing shows how much units of it differ."""

    def __init__(self, stratum: object, unit: str = "cluster") -> None:
        self.stratum = stratum
        self.unit = unit
        where = "the sample has" if stratum is None else f"stratum {shown(stratum)} has"
        mend = (
            f"two {unit}s or more"
            if stratum is None
            else (
                f"two {unit}s or more per stratum; merge it with a stratum that resembles it, or, if it was taken with "
                f"certainty, say so: population={{…, {shown(stratum)}: 1}}"
            )
        )
        super().__init__(f"{where} a single {unit}, so its variance is unknown; expected {mend}")

    def __reduce__(self) -> tuple[type[SingleCluster], tuple[object, str]]:
        return type(self), (self.stratum, self.unit)


class NotCalibrated(RRCollectError, ValueError):
    """No weights meet the totals that were given."""

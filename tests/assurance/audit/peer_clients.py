"""Other projects' clients, asked as ours is.  Run: python peer_clients.py PEER EPSILON SUBJECTS REPORTS

Runs in an interpreter that has the peer, with nothing of ours.  Every subject has one truth and gives REPORTS reports
by the peer's client as its documentation says.  Writes a line of JSON (what the peer claims for one report, and for any
number of them, null if nothing), then for the truth no and for the truth yes a byte for each report, what it looks like
to an observer: 0 no, 2 yes, 1 neither.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

Peer = tuple[Callable[[bool], int], float, float | None]
"""(one report, the ε claimed for one, the ε claimed for any number)."""


def opendp(epsilon: float) -> Peer:
    """make_randomized_response_bool; ε by its own privacy map."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    mechanism: Any = dp.m.make_randomized_response_bool(math.exp(epsilon) / (math.exp(epsilon) + 1))
    return lambda truth: 2 * mechanism(truth), float(mechanism.map(1)), None


def diffprivlib(epsilon: float) -> Peer:
    """Binary."""
    from diffprivlib.mechanisms import Binary

    mechanism: Any = Binary(epsilon=epsilon, value0="no", value1="yes")
    return lambda truth: 2 * (mechanism.randomise("yes" if truth else "no") == "yes"), epsilon, None


def pure_ldp_rappor(epsilon: float) -> Peer:
    """RAPPORClient, set up by its server; seen as "yes" if the bit of "yes" is set.  ε by its own conversion."""
    from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer

    fields: Any = {"f": 0.5, "m": 32, "num_of_cohorts": 8}
    server: Any = RAPPORServer(**fields, k=1, d=2)
    client: Any = RAPPORClient(**fields, hash_funcs=server.get_hash_funcs())
    client.update_params(f=client.convert_eps_to_f(epsilon), hash_funcs=server.get_hash_funcs())

    def report(truth: bool) -> int:
        bits, cohort = client.privatise(2 if truth else 1)
        return 2 * int(bits[server.get_hash_funcs()[cohort][0](str(client.index_mapper(2)))])

    return report, float(client.convert_f_to_eps(client.f, 1)), None


def multi_freq_ldpy_l_grr(epsilon: float) -> Peer:
    """L_GRR_Client: half of ε for one report, ε for any number of them."""
    from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Client

    return lambda truth: 2 * int(L_GRR_Client(int(truth), 2, epsilon, epsilon / 2)), epsilon / 2, epsilon


def multi_freq_ldpy_l_sue(epsilon: float) -> Peer:
    """L_SUE_Client (basic RAPPOR): one bit for "no" and one for "yes", either, both or none set."""
    from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Client

    def report(truth: bool) -> int:
        bits = L_SUE_Client(int(truth), 2, epsilon, epsilon / 2)
        return 1 + int(bits[1]) - int(bits[0])

    return report, epsilon / 2, epsilon


def multi_freq_ldpy_ss(epsilon: float) -> Peer:
    """SS_Client: a set of some of ten options, of which the observer looks at the one that is sent first."""
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return lambda truth: 2 * int(SS_Client(int(truth), 10, epsilon)[0] == 1), epsilon, None


PEERS: dict[str, Callable[[float], Peer]] = {
    "opendp": opendp,
    "diffprivlib": diffprivlib,
    "pure_ldp_rappor": pure_ldp_rappor,
    "multi_freq_ldpy_l_grr": multi_freq_ldpy_l_grr,
    "multi_freq_ldpy_l_sue": multi_freq_ldpy_l_sue,
    "multi_freq_ldpy_ss": multi_freq_ldpy_ss,
}


def main(name: str, epsilon: str, subjects: str, reports: str) -> None:
    """Ask, and write what came."""
    report, one, many = PEERS[name](float(epsilon))
    sys.stdout.buffer.write(json.dumps({"one": one, "many": many}).encode() + b"\n")
    for truth in (False, True):
        sys.stdout.buffer.write(bytes(report(truth) for _ in range(int(subjects) * int(reports))))


if __name__ == "__main__":
    main(*sys.argv[1:])

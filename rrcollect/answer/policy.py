"""The device's own rules.  They win over whatever a document claims.

Defaults, and why
* One answer may change the odds by a factor of 9 at most (ε = ln 9): from even odds nobody gets surer than 90 %.
* All answers about one attribute, over all rounds and for life: ln 81, two such answers.  Repeating an answer is free.
* Everything a device ever answers: ln 59049, five such answers about five attributes.  Nothing renews by the clock:
  a budget that refills every month is not a limit on what is learned about a person.
* A design whose worst likelihood ratio is above `max_ratio` is a disclosure.  It needs the publisher's signed opt-in
  and `allow_disclosure` here, and is then charged to the δ budgets as (0, |c|), its total variation distance.
  Those budgets are 1/100 each: raise them together with `allow_disclosure` for larger ones.
* Nobody is trusted until named: `publishers` is empty.
* A publisher could sign a slightly different survey for each person, whose digest then names them.  `digests` pins:
  with any there, no other survey is taken.  `log` names the key of a log instead: then a survey is taken only with a
  proof that it is in that log, where everybody can count what this publisher has published under its name.  A log could
  show different people different histories; `witnesses` are the keys of those who sign what they saw, of whom
  `witnesses_needed` (all, unless said) must have signed the same state.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction

from rrcollect.answer.acceptance import AcceptedSurvey, SeenVersion, check_version
from rrcollect.answer.asking import check_expiry
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, fraction, probability, whole_number
from rrcollect.design.promise import Promise
from rrcollect.errors import BadSignature, NotLogged, OverPolicy, ParameterError, UntrustedKey, shown
from rrcollect.publish.composition import DEFAULTS
from rrcollect.publish.envelope import Withdrawal, read_withdrawal, verify
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.log import LogRule
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey

DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class TrustedPublisher:
    """Whose surveys this device takes: the publisher's name, its keys, and how many of them must have signed.

    >>> from rrcollect import SigningKey
    >>> keys = [SigningKey.generate().public for _ in range(3)]
    >>> TrustedPublisher("Example Institute", keys, threshold=2).threshold
    2
    """

    name: str
    keys: frozenset[PublicKey]
    threshold: int = 1

    def __init__(self, name: str, keys: Iterable[PublicKey], threshold: int = 1) -> None:
        if not isinstance(name, str) or not name:
            raise ParameterError("publisher", name, "its name")
        given = list(keys) if isinstance(keys, Iterable) else keys
        if not isinstance(given, list) or not given or not all(isinstance(key, PublicKey) for key in given):
            raise ParameterError("keys", given, "a list of one PublicKey or more")
        kept = frozenset(given)
        if whole_number("threshold", threshold) > len(kept):
            raise ParameterError("threshold", threshold, f"at most the number of keys, {len(kept)}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "keys", kept)
        object.__setattr__(self, "threshold", threshold)


@dataclass(frozen=True)
class Policy:
    """Caps on what this device gives away; see the module's text for the defaults and their reasons.

    >>> policy = Policy(max_epsilon="ln 3")
    >>> policy.max_epsilon, policy.attribute_epsilon
    (Epsilon('ln(3)'), Epsilon('ln(81)'))
    """

    publishers: tuple[TrustedPublisher, ...] = ()
    max_epsilon: Epsilon = DEFAULTS.max_epsilon
    max_ratio: Fraction = DEFAULTS.max_ratio
    attribute_epsilon: Epsilon = DEFAULTS.attribute_epsilon
    attribute_delta: Fraction = DEFAULTS.attribute_delta
    lifetime_epsilon: Epsilon = DEFAULTS.lifetime_epsilon
    lifetime_delta: Fraction = DEFAULTS.lifetime_delta
    allow_disclosure: bool = False
    digests: frozenset[str] = frozenset()
    logged: LogRule | None = None

    def __init__(
        self,
        publishers: Iterable[TrustedPublisher] = (),
        *,
        max_epsilon: EpsilonLike = DEFAULTS.max_epsilon,
        max_ratio: NumberLike = DEFAULTS.max_ratio,
        attribute_epsilon: EpsilonLike = DEFAULTS.attribute_epsilon,
        attribute_delta: NumberLike = DEFAULTS.attribute_delta,
        lifetime_epsilon: EpsilonLike = DEFAULTS.lifetime_epsilon,
        lifetime_delta: NumberLike = DEFAULTS.lifetime_delta,
        allow_disclosure: bool = False,
        digests: Iterable[str] = (),
        log: str | None = None,
        witnesses: Iterable[str] = (),
        witnesses_needed: int | None = None,
    ) -> None:
        named = tuple(publishers) if isinstance(publishers, Iterable) else (None,)
        if not all(isinstance(publisher, TrustedPublisher) for publisher in named):
            raise ParameterError("publishers", named, "TrustedPublisher objects")
        if len({publisher.name for publisher in named}) != len(named):
            raise ParameterError("publishers", [p.name for p in named], "each publisher once, with all its keys")
        ratio = fraction("max_ratio", max_ratio)
        if ratio <= 1:
            raise ParameterError("max_ratio", max_ratio, "a number above 1")
        if not isinstance(allow_disclosure, bool):
            raise ParameterError("allow_disclosure", allow_disclosure, "True or False")
        listed = isinstance(digests, Iterable) and not isinstance(digests, str)
        pinned = list(digests) if listed else []
        if not listed or not all(isinstance(digest, str) and DIGEST.fullmatch(digest) for digest in pinned):
            raise ParameterError("digests", digests, "a list of digests, each of 64 hexadecimal digits")
        values = {
            "publishers": named,
            "max_epsilon": Epsilon(max_epsilon),
            "max_ratio": ratio,
            "attribute_epsilon": Epsilon(attribute_epsilon),
            "attribute_delta": probability("attribute_delta", attribute_delta),
            "lifetime_epsilon": Epsilon(lifetime_epsilon),
            "lifetime_delta": probability("lifetime_delta", lifetime_delta),
            "allow_disclosure": allow_disclosure,
            "digests": frozenset(pinned),
            "logged": LogRule.of(log, witnesses, witnesses_needed),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def keys(self) -> frozenset[PublicKey]:
        """Every key of every trusted publisher."""
        return frozenset(key for publisher in self.publishers for key in publisher.keys)

    @property
    def attribute(self) -> Promise:
        """All that this device gives away about one attribute."""
        return Promise(self.attribute_epsilon, self.attribute_delta)

    @property
    def life(self) -> Promise:
        """All that this device gives away for life."""
        return Promise(self.lifetime_epsilon, self.lifetime_delta)

    def cost(self, question: Question) -> Promise:
        """What one answer is charged, exactly; an error if this policy does not allow the question at all."""
        return question.charged(self.max_epsilon, self.max_ratio, allow_disclosure=self.allow_disclosure)

    # ---- what it accepts --------------------------------------------------------------------------------------

    def accept(
        self,
        envelope: bytes,
        *,
        now: datetime | None = None,
        seen: dict[tuple[str, str], SeenVersion] | None = None,
    ) -> AcceptedSurvey:
        """The survey of a signed envelope, or the error that says why not.

        `seen` maps (publisher, name) to the newest version accepted before; `now` is the time to judge expiry by.

        >>> from datetime import datetime, timezone
        >>> from rrcollect import Question, Survey, SigningKey, optimal_design
        >>> key = SigningKey.generate()
        >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
        >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
        ...                 collector="https://collect.example.org/reports",
        ...                 expires=datetime(2100, 1, 1, tzinfo=timezone.utc), questions=[question])
        >>> policy = Policy([TrustedPublisher("Example Institute", [key.public])])
        >>> policy.accept(survey.publish([key]).envelope).survey == survey
        True
        >>> policy.accept(survey.publish([SigningKey.generate()]).envelope)
        Traceback (most recent call last):
        ...
        rrcollect.errors.UntrustedKey: no signature of this envelope is by a key this policy trusts
        """
        verified = verify(envelope, self.keys)
        survey = Survey.from_payload(verified.payload)
        survey.check()
        self._check_signers(survey.publisher, verified.signers)
        pinned = bool(self.digests) or (self.logged is not None and self.logged.needed > 0)
        digest = hashlib.sha256(verified.payload).hexdigest()
        accepted = AcceptedSurvey(survey, digest, verified.signers, pinned=pinned)
        if self.logged is not None:
            about = (survey.name, survey.version, accepted.digest)
            state, witnesses = self.logged.check(verified.proof, accepted.signers, about)
            accepted = replace(accepted, state=state, witnesses=witnesses)
        self.check_trust(accepted)
        check_expiry(survey, datetime.now(UTC) if now is None else now)
        known = (seen or {}).get((survey.publisher, survey.name))
        check_version(survey.name, SeenVersion(survey.version, accepted.digest), known)
        for question in survey.questions:
            self.cost(question)
        return accepted

    def accept_withdrawal(self, envelope: bytes) -> Withdrawal:
        """The withdrawal of a signed envelope, by as many of the publisher's keys as a survey needs."""
        withdrawal, signers = read_withdrawal(envelope, self.keys)
        self._check_signers(withdrawal.publisher, signers)
        return withdrawal

    def check_trust(self, accepted: AcceptedSurvey) -> None:
        """Enough of the publisher's own keys have signed exactly this survey, and it is a pinned one if any are."""
        self._check_signers(accepted.survey.publisher, accepted.signers)
        if self.digests and accepted.digest not in self.digests:
            raise OverPolicy(f"the survey with the digest {accepted.digest} is not one that this policy pins")
        if accepted.survey.digest != accepted.digest:
            raise BadSignature("the survey was changed after it was accepted")
        if self.logged is not None and (accepted.state is None or accepted.state.origin != self.logged.log.name):
            raise NotLogged("the survey was accepted under a policy that names no log, or another one")

    def _check_signers(self, name: str, signers: frozenset[PublicKey]) -> None:
        """Enough of the keys of the publisher of this name are among the signers."""
        publisher = next((publisher for publisher in self.publishers if publisher.name == name), None)
        if publisher is None:
            raise UntrustedKey(f"the publisher {shown(name)} is not one this policy trusts")
        signed = len(publisher.keys & signers)
        if signed < publisher.threshold:
            raise UntrustedKey(f"{signed} of {publisher.threshold} needed keys of {shown(name)} have signed")

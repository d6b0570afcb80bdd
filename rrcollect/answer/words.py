"""What a person is told by this device: every sentence, in one table, and how others' text is kept apart from it.

Rules
1. A sentence here is true of every survey and device that it is said of; its places hold numbers, moments and the words
   of other sentences, never text that somebody else wrote.
2. Text that somebody else wrote (a title, a publisher, a question, a segment, an attribute, an address) has lines of
   its own.  Each of them begins with "> ", also where it goes on: long lines are broken here, because a terminal that
   breaks them would begin a line without the mark.
3. The table is the same in rrcollect.mjs.  Translations are further tables with the same keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["SENTENCES", "Line", "marked", "sentence", "shown_lines"]

MARK = "> "
COLUMNS = 76  # of a marked line, without the mark
WIDE = "\u1100"  # from here on a character may take two columns

SENTENCES = {
    "mark": 'Lines that begin with ">" were written by whoever asks. All others are written by this program.',
    "publisher": "Asked by:",
    "pilot": "This is a trial: its answers are never counted with those of a real survey. What is drawn for it is "
    "drawn for good, and is not drawn again for the real one.",
    "until": "It can be answered until {expires} UTC.",
    "from_until": "It can be answered from {opens} UTC until {expires} UTC.",
    "question": "Question {number} of {count}:",
    "changed": "Before your answer is sent, this device changes it by chance {share}.",
    "changed_unequally": 'Before your answer is sent, this device changes it by chance: a true "no" {no}, a true '
    '"yes" {yes}.',
    "unchanged": "Your answer is sent as you give it: nothing is changed by chance.",
    "choice_one": "Before your answer is sent, this device changes it to another option by chance {share}.",
    "choice_set": "Your answer itself is not sent. This device sends {size} of the {options} options, drawn by chance; "
    "yours is not among them {share}.",
    "choice_set_always": "Your answer itself is not sent. This device sends {size} of the {options} options, drawn by "
    "chance; yours is always among them.",
    "number": 'Your number itself is not sent. This device sends only "high" or "low", drawn by chance: the higher '
    'your number, the more often "high". Whatever your number is, "high" is sent in at least {low} and at most {high} '
    "of 100 cases.",
    "clipped": "A number below {low} counts as {low}, one above {high} as {high}.",
    "never": "never",
    "rarely": "in fewer than 1 of 10000 cases",
    "share": "in at least {number} of 100 cases",
    "yes": '"yes"',
    "no": '"no"',
    "high": '"high"',
    "low": '"low"',
    "rounds": "It is asked in up to {rounds} rounds, and your answer is changed anew in each.",
    "panel": "It is asked in {rounds} rounds. This device answers in one of them only, which it draws by chance before "
    "you answer.",
    "proof": "If {word} is sent, this proves that your true answer is {word}.",
    "nearly_proof": "If {word} is sent, this is as good as a proof that your true answer is {word}.",
    "set_proof": "What is sent proves that your true answer is among the options sent.",
    "set_nearly_proof": "What is sent is as good as a proof that your true answer is among the options sent.",
    "number_proof": "If {word} is sent, this proves that your number is not at the other end of the range.",
    "number_nearly_proof": "If {word} is sent, this is as good as a proof that your number is not at the other end of "
    "the range.",
    "proof_chance": "Such an answer is sent about you {chance}.",
    "never_likely": "in fewer than 1 of a million cases",
    "chance": "in up to {number} of 100 cases",
    "certain": "for certain",
    "limit": "Somebody who sees all that is sent for this question, and who thought two things about you equally "
    "likely before, can come to think one of them at most {ratio} times as likely as the other.",
    "limit_besides": "If no such answer is sent: somebody who sees all that is sent for this question, and who "
    "thought two things about you equally likely before, can come to think one of them at most {ratio} times as "
    "likely as the other.",
    "no_limit": "There is no useful limit to what all that is sent for this question can tell about you.",
    "ask_one": "This survey has {count} questions. This device asks you only one of them, which it draws by chance "
    "before you answer. The limits are those of the question that tells most.",
    "survey_proof": "An answer that proves something about you, or is as good as a proof, is sent by this whole "
    "survey {chance}.",
    "survey_limit": "All questions together: somebody who sees all that this survey can make this device send, and "
    "who thought two things about you equally likely before, can come to think one of them at most {ratio} times as "
    "likely as the other.",
    "survey_limit_besides": "All questions together, if no such answer is sent: somebody who sees all that this "
    "survey can make this device send, and who thought two things about you equally likely before, can come to "
    "think one of them at most {ratio} times as likely as the other.",
    "survey_no_limit": "All questions together: there is no useful limit to what everything that this survey can "
    "make this device send can tell about you.",
    "origins": "This survey can be answered at {count} addresses. This browser remembers your answers separately at "
    "each of them, so each could make it draw anew. The numbers above are for all of them together:",
    "collector": "Each answer is sent by itself, without your name, to the address below. Whoever receives it sees "
    "the network address that it comes from.",
    "carried": "Your answers are not sent by this device: the program that asks you passes them on. It can tell "
    "that they come from one person, and so can whoever gets them from it.",
    "segments": "You may also declare what follows. It is sent with each answer as you choose it, and is never "
    "changed by chance. Taken together it can point to you:",
    "invite": "This survey is by invitation. Each answer is sent with a ticket that this device makes from your "
    "invite. Whoever issued the invites can tell which answers came from one invite.",
    "decline": "You may decline any question. From then on nothing is sent for it.",
    "device": "This device remembers what it drew and repeats it: asking the same again tells nobody more. A lost, "
    "reset or new device does not remember. If you answer there again, that is a second draw, and the two together "
    "tell more than one: the limits above are then those of each device by itself. If you have answered before, you "
    "can decline.",
    "nothing_drawn": "This device has drawn no answer yet.",
    "drawn": "Somebody who sees all that this device has drawn so far, and who thought two things about you equally "
    "likely before, can come to think one of them at most {ratio} times as likely as the other.",
    "drawn_besides": "Apart from answers that tell by themselves, somebody who sees all that this device has drawn "
    "so far, and who thought two things about you equally likely before, can come to think one of them at most "
    "{ratio} times as likely as the other.",
    "drawn_no_limit": "There is no useful limit to what all that this device has drawn so far can tell about you.",
    "cap": "For your whole life this device stops at {ratio} times. Nothing renews.",
    "cap_besides": "For your whole life this device stops at {ratio} times, not counting answers that disclose "
    "more: those depend on what is true {chance}, and otherwise on chance alone. Nothing renews.",
    "cap_no_limit": "This device sets no useful limit for your whole life.",
    "sent": "{word} was sent or may have been sent, in {reports}.",
    "sent_in_round": "In round {round}, {word} was sent or may have been sent, in {reports}.",
    "sent_option": "The option {list} was sent or may have been sent, in {reports}.",
    "sent_option_in_round": "In round {round}, the option {list} was sent or may have been sent, in {reports}.",
    "sent_set": "The options {list} were sent or may have been sent, in {reports}.",
    "sent_set_in_round": "In round {round}, the options {list} were sent or may have been sent, in {reports}.",
    "report": "1 report",
    "reports": "{count} reports",
    "not_sent": "An answer was drawn. It is shown here after it was sent.",
    "not_sent_in_round": "An answer was drawn for round {round}. It is shown here after it was sent.",
    "means": "It can make one answer at most {ratio} times as likely as the other, to somebody who thought both "
    "equally likely before.",
    "means_option": "It can make one option at most {ratio} times as likely as another, to somebody who thought both "
    "equally likely before.",
    "means_number": "It can make one number at most {ratio} times as likely as another, to somebody who thought both "
    "equally likely before.",
    "means_set_proof": "It proves that your true answer is among the options sent.",
    "means_set_nearly_proof": "It is as good as a proof that your true answer is among the options sent.",
    "means_number_proof": "It proves that your number is not at the other end of the range.",
    "means_number_nearly_proof": "It is as good as a proof that your number is not at the other end of the range.",
    "means_proof": "It proves that this is your true answer.",
    "means_nearly_proof": "It is as good as a proof that this is your true answer.",
}
"""Key → the sentence in English, with named places."""


@dataclass(frozen=True)
class Line:
    """Some text, whether somebody else wrote it (then it may have several lines), and the question it belongs to."""

    text: str
    foreign: bool = False
    question: str | None = None


def sentence(key: str, **places: str) -> str:
    """The sentence with its places filled.

    >>> sentence("share", number="25")
    'in at least 25 of 100 cases'
    """
    return SENTENCES[key].format(**places)


def marked(text: str) -> list[str]:
    """Foreign text as lines that each begin with the mark.

    >>> marked("Ever doped?\\nNothing is sent.")
    ['> Ever doped?', '> Nothing is sent.']
    """
    return [MARK + part for line in text.split("\n") for part in _broken(line)]


def shown_lines(lines: Iterable[Line]) -> str:
    """The whole text: ours as it is, theirs marked."""
    return "\n".join(part for line in lines for part in (marked(line.text) if line.foreign else [line.text]))


def _broken(line: str) -> list[str]:
    """The line in parts that fit, broken at spaces where there are some."""
    parts = []
    while (cut := _fitting(line)) < len(line):
        space = line.rfind(" ", 1, cut + 1)
        at = space if space > 0 else cut
        parts.append(line[:at])
        line = line[at + (space > 0) :]
    return [*parts, line]


def _fitting(line: str) -> int:
    """How many characters of the line fit."""
    columns = 0
    for number, character in enumerate(line):
        columns += 2 if character >= WIDE else 1
        if columns > COLUMNS:
            return number
    return len(line)

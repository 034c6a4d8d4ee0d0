"""Turn figures of a result into sentences; the command, the card, the report and the workbench show the same ones.

The dataclasses of this module contain plain figures. Every share has the format ``88% (75–95%)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from isthmus._utils import plural, spell_time

# Smallest share of right labels for each phrase. The limits lie between the fractions that the phrases name.
_FRACTIONS = (
    (0.97, "Nearly all of the"),
    (0.93, "About 19 in 20"),
    (0.87, "About 9 in 10"),
    (0.82, "About 5 in 6"),
    (0.775, "About 4 in 5"),
    (0.71, "About 3 in 4"),
    (0.635, "About 2 in 3"),
    (0.57, "About 3 in 5"),
    (0.45, "About half of the"),
    (0.3, "Fewer than half of the"),
)
LONG_LIST = 200  # documents; nobody reads a longer list before using the labels
# Titles of warnings by topic.
_TITLES = {
    "class shares": "The classes' shares moved.",
    "no text": "Some documents are empty.",
    "not estimated": "Nothing says how many labels are right.",
    "review": "Everything needs reading.",
    "thin source": "The source is thin.",
    "noisy source": "The source's labels are noisy.",
}
# Basis of an expected accuracy.
_BASES = {
    "": "judged without true labels",
    "random": "judged by answers to documents drawn at random",
    "weighted": "judged by the answers given so far",
}
LOOK = 100  # documents to read at random if nothing recommends another number
UNKNOWN = "not known"  # a share that was not estimated


# -- Numbers


def percent(share: float, digits: int = 0) -> str:
    """Return a share in percent.

    Parameters
    ----------
    share : float
        From 0 to 1.
    digits : int, default=0
        Decimals.

    Returns
    -------
    str

    Examples
    --------
    >>> percent(0.882), percent(0.025, 1)
    ('88%', '2.5%')
    """
    return f"{100 * share:.{digits}f}%"


def exact_percent(share: float) -> str:
    """Return a share that a person has chosen, such as an error budget, in percent without rounding.

    Parameters
    ----------
    share : float

    Returns
    -------
    str

    Examples
    --------
    >>> exact_percent(0.1), exact_percent(0.025)
    ('10%', '2.5%')
    """
    return f"{100 * share:g}%"


def interval(estimate: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a share with its interval.

    Parameters
    ----------
    estimate, low, high : float or None
        ``low`` is None without an interval.

    Returns
    -------
    str

    Examples
    --------
    >>> interval(0.88, 0.75, 0.95), interval(0.5), interval(None)
    ('88% (75–95%)', '50%', 'not known')
    """
    if estimate is None:
        return UNKNOWN
    return (
        percent(estimate) if low is None or high is None else f"{percent(estimate)} ({100 * low:.0f}–{percent(high)})"
    )


def cases(level: float) -> str:
    """Return how often an interval contains the true value.

    Parameters
    ----------
    level : float
        Confidence level.

    Returns
    -------
    str

    Examples
    --------
    >>> cases(0.9), cases(0.95)
    ('9 of 10 cases', '95 of 100 cases')
    """
    return f"{10 * level:.0f} of 10 cases" if round(100 * level) % 10 == 0 else f"{100 * level:.0f} of 100 cases"


# -- What to read next


class Step(NamedTuple):
    """Recommended reading, and the expected length of the review list after it.

    If ``now`` is 0, no document needs review, and reading some documents at random shows whether that is right. If
    ``at_random`` is False, the documents are those of the list, or the least confident ones of a long list.
    """

    read: int
    now: int
    then: int
    minutes: int
    at_random: bool = True
    why: str = ""  # purpose of reading the list

    def __str__(self) -> str:
        """Return the recommendation as a sentence."""
        which = f"{self.read:,} drawn at random" if self.at_random else plural(self.read, "document")
        if not self.at_random and self.read == self.now:
            which = f"the {which} to review"
        first = f"Read {which} (about {spell_time(60 * self.minutes)})"
        if not self.now:
            return f"{first}: they show how many labels are right, and whether a class is missing."
        if self.at_random or (self.read < self.now and not self.why):
            return f"{first}: the list to read should shrink from {self.now:,} to about {self.then:,}."
        return f"{first}, {self.why}." if self.why else f"{first}."


class AnswerForecast(NamedTuple):
    """Expected review list and expected share of right labels after a number of answers."""

    answers: int
    minutes: int
    now: int
    then: int
    right: float

    def __str__(self) -> str:
        """Return the forecast as a sentence."""
        verb = "shrink" if self.then < self.now else "change"
        shrinks = f"The list to review should {verb} from {self.now:,} to about {self.then:,}"
        shrinks = shrinks if self.now else "Nothing is left to review"
        return (
            f"{shrinks} after {plural(self.answers, 'answer')} (about {spell_time(60 * self.minutes)}), and about "
            f"{percent(self.right)} of all labels should be right then."
        )


def sample_sentence(sample: int, population: int, margin: float) -> str:
    """Return what a random sample shows.

    Parameters
    ----------
    sample, population : int
        Documents of the sample, and of all.
    margin : float
        Half the width of the interval that the sample gives.

    Returns
    -------
    str
    """
    if sample == population:
        every = "the document" if sample == 1 else f"all {sample:,} documents"
        return f"Label {every} by hand: then the accuracy is known."
    return (
        f"Label {sample:,} documents, drawn at random, by hand: then the accuracy is known to about "
        f"± {100 * margin:.0f} points, and the class proportions can be corrected."
    )


# -- A label result


@dataclass(frozen=True)
class Share:
    """A share of right labels with its interval and basis."""

    estimate: float | None
    low: float = 0.0
    high: float = 1.0
    level: float = 0.9  # confidence level of the interval
    reason: str = ""  # why there is no estimate
    basis: str = ""  # kind of answers that it rests on: "", "random" or "weighted"
    checked: int = 0  # documents of a random check that measured it; 0 if it is an expectation

    @property
    def is_expected(self) -> bool:
        """Whether no person has read documents, so that a class could be missing without notice."""
        return not self.checked and not self.basis

    @property
    def basis_text(self) -> str:
        """Basis of the estimate in words."""
        if self.checked:
            return f"measured on {plural(self.checked, 'document')} checked at random"
        return _BASES.get(self.basis, _BASES["weighted"])

    @property
    def note(self) -> str:
        """Explanation of the figure."""
        if self.estimate is None:
            return f"Not estimated{f' ({self.reason})' if self.reason else ''}. Check a sample to know."
        return f"The interval holds in {cases(self.level)}; {self.basis_text}."

    def __str__(self) -> str:
        """Return the share with its interval and basis."""
        if self.estimate is None:
            return f"not estimated: {self.reason or 'too few documents, or labels that cannot be learned from words'}"
        return f"{interval(self.estimate, self.low, self.high)}, {self.basis_text}"


@dataclass(frozen=True)
class Passing:
    """Labels that a checked sample guarantees."""

    documents: int  # labels that pass
    of: int
    unread: int  # of those that pass
    read: int  # documents of the sample
    budget: float
    level: float
    more: int = 0  # recommended number of additional documents; 0 if they would change little
    then: int = 0  # labels that should pass after them

    @property
    def note(self) -> str:
        """Explanation of the figure."""
        read, budget = plural(self.read, "document"), exact_percent(self.budget)
        shown = f"{read} read at random do not yet show that any label can pass with {budget} of the file wrong."
        if self.documents:
            sure = exact_percent(self.level)
            shown = (
                f"At most {budget} of the finished file are wrong, with {sure} confidence, by {read} read at random."
            )
            if self.unread < self.documents:
                shown += f" Nobody read {self.unread:,} of them."
        if not self.more:
            return f"{shown} Reading more would change little."
        return f"{shown} Read {self.more:,} more, and about {self.then:,} should pass."


@dataclass(frozen=True)
class ClassShare:
    """The proportion of a class: an estimate for all documents, which is corrected where counted labels are biased."""

    name: str
    labels: int  # documents with this label
    estimate: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        """Return the estimated proportion."""
        return interval(self.estimate, self.low, self.high)


@dataclass(frozen=True)
class Outcome:
    """The figures of the first screen about a label result."""

    documents: int
    review: int  # documents marked for review
    right: Share
    classes: tuple[ClassShare, ...]
    shares_basis: str  # basis of the class proportions: "check", "sample", "expected" or another
    learned_from: int  # documents with a label
    source: str = ""  # names of the collections
    target: str = ""
    passing: Passing | None = None
    wrong_finished: float | None = None  # expected share of wrong labels after the marked documents were read
    wrong_unread: float | None = None  # expected share of wrong labels among the others
    step: Step | None = None

    @property
    def headline(self) -> str:
        """The result in one line: the share of right labels and the number of documents to read."""
        n, review, share = self.documents, self.review, self.right.estimate
        first = f"{plural(n, 'document')} labelled; how many are right was not estimated."
        if share is not None:
            words = next((words for least, words in _FRACTIONS if share >= least), "Few")
            first = f"{words} labels are right{', if your classes cover the target' if self.right.is_expected else ''}."
        if not review:
            return f"{first} None is marked for review."
        if review > LONG_LIST:
            return f"{first} {'All' if review == n else f'{review:,} of {n:,}'} need review."
        if review == n:
            return f"{first} Read {'it' if n == 1 else 'them all'}."
        return f"{first} Read {'this one' if review == 1 else f'these {review:,}'} first."

    @property
    def about(self) -> str:
        """Numbers of documents and classes."""
        labelled = plural(self.documents, "document") + (f" of {self.target}" if self.target else "")
        classes = plural(len(self.classes), "class", "classes")
        if not self.learned_from:
            return f"{labelled}, labelled with {classes} known by name alone."
        learned = plural(self.learned_from, "document") + (f" of {self.source}" if self.source else "")
        return f"{labelled}, labelled with {classes} learned from {learned}."

    @property
    def review_note(self) -> str:
        """Statement about the labels outside the review list."""
        if self.passing is not None:
            return "The others pass by the guarantee, or were read."
        if self.right.estimate is None and self.right.reason and self.review < self.documents:
            return "How many of the others are wrong is not known."
        if self.review == self.documents or self.wrong_finished is None or self.wrong_unread is None:
            return "The method is not confident enough of any label."
        return (
            f"Expected errors: {percent(self.wrong_finished)} of the finished file, "
            f"{percent(self.wrong_unread)} of the unread labels."
        )

    @property
    def shares_note(self) -> str:
        """Definition and basis of the class proportions."""
        holds = {
            "check": f"the intervals hold in 95 of 100 cases, {self.right.basis_text}",
            "sample": "the intervals hold in 9 of 10 cases, corrected by answers to documents drawn at random",
            "expected": f"the intervals hold in 9 of 10 cases, {self.right.basis_text}",
        }
        return f"Estimated proportions: {holds.get(self.shares_basis, 'their error is not known')}."

    @property
    def next(self) -> str:
        """The recommended step."""
        return "" if self.step is None else str(self.step)


def warning_title(topic: str) -> str:
    """Return the title of a warning.

    Parameters
    ----------
    topic : str

    Returns
    -------
    str
    """
    return _TITLES.get(topic, f"{topic.capitalize()}.")


# Members that join after the methods have voted; their weight is no share of the vote.
JOINED = {"words alone": "labelled words count, too", "names": "names of classes count, too"}


def why_this_method(decision: Sequence[Mapping[str, Any]]) -> str:
    """Explain the origin of the labels: the method, or the number of voting methods and the most important one.

    Parameters
    ----------
    decision : sequence of mapping
        Candidates of the choice: ``method``, ``chosen``, ``weight`` and ``why``.

    Returns
    -------
    str
    """
    chosen = [row for row in decision if row["chosen"]]
    if len(chosen) == 1:
        return str(chosen[0]["why"])
    # Without any voter the labels come from words or names of classes only.
    voters = [row for row in chosen if row["method"] not in JOINED] or chosen[:1]
    first = max(voters, key=lambda row: row.get("weight", 0.0))
    voted = f"{len(voters)} methods voted; {first['method']} counts most ({percent(first.get('weight', 0.0))})"
    if len(voters) == 1:
        voted = f"{first['method']}: {first['why']}"
    return "; ".join([voted, *(JOINED[row["method"]] for row in chosen if row not in voters)])


def list_classes(classes: Iterable[ClassShare], before: Mapping[str, int] | None = None) -> list[str]:
    """Return the number of documents of each class with its estimated proportion.

    Parameters
    ----------
    classes : iterable of ClassShare
    before : mapping of str to int, optional
        Numbers before the latest answers.

    Returns
    -------
    list of str
    """
    counted = [
        (row, f"{before.get(row.name, 0):,} → {row.labels:,}" if before else f"{row.labels:,}") for row in classes
    ]
    # The proportion is estimated, because counted labels can be biased.
    return [
        f"{row.name} {count}, {'' if number else 'estimated proportion '}{row}"
        for number, (row, count) in enumerate(counted)
    ]


def describe_sources(rows: Sequence[Mapping[str, Any]]) -> str:
    """Describe several sources in one line: those used, and why others are not.

    Parameters
    ----------
    rows : sequence of mapping
        Figures of the sources.

    Returns
    -------
    str
    """
    used = [
        f"{row['source']} ({row['documents']:,}, likeness {percent(row['likeness'])})" for row in rows if row["used"]
    ]
    idle = [f"{row['source']} left out, for its labels {row['why']}" for row in rows if not row["used"]]
    return "sources: " + "; ".join([", ".join(used), *idle])

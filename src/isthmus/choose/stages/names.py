"""Fit the part of the classes' names in the result."""

from __future__ import annotations

from dataclasses import replace

from isthmus.choose.candidates import Candidates
from isthmus.choose.decision import Decision, agreement_and_seconds
from isthmus.choose.names import names_share, why_names_stay_out
from isthmus.choose.stages.apply import NAMES, AddedClasses, NamesShare

SOURCE_ONLY = "source-only is as sure in the target as within the source, and is taken alone"


def fit(decision: Decision) -> None:
    """Add the classes that only names describe, or give the names a share of the vote.

    New groups that the added classes explain are no longer reported.

    Parameters
    ----------
    decision : Decision
    """
    candidates = decision.candidates
    names = candidates.names
    if names is None:
        return
    why, share = "", 0.0
    if not candidates.added:
        why = SOURCE_ONLY if decision.guarded else why_without_names(decision)
    if not why:
        agreement = names.model.agreement_
        share = 0.0 if agreement is None else names_share(agreement)
        decision.join(NAMES, names.model, names.probabilities)
        if candidates.added:
            decision.add(AddedClasses(names.model.classes_))
            scorer = candidates.scorer
            if scorer is not None:
                # Groups with an added class are explained, so they no longer count as wrong in the estimate.
                scorer = scorer.without_groups_of(decision.labels, candidates.added)
            decision.candidates = replace(candidates, scorer=scorer)
            decision.accuracy = decision.candidates.estimate(decision.labels, decision.proba)
        else:
            decision.add(NamesShare(share))
            decision.estimate_again()
    decision.rows.append(table_row(candidates, decision, share, why))


def why_without_names(decision: Decision) -> str:
    """Return the reason why names have no share of the vote.

    Parameters
    ----------
    decision : Decision

    Returns
    -------
    str
        Empty if names may vote.
    """
    names, scorer = decision.candidates.names, decision.scorer
    assert names is not None
    if scorer is None:
        return "there are too few documents to weigh methods against each other"
    n_labelled = len(scorer.source_labels)
    about = names.model.classes_.tolist(), names.model.agreement_
    # The evidence about the vote takes time, so it is computed only if nothing else decides.
    why = why_names_stay_out(*about, None, None, n_labelled)
    return why or why_names_stay_out(*about, names.evidence, scorer.score(decision.labels), n_labelled)


def table_row(candidates: Candidates, decision: Decision, share: float, why: str) -> dict:
    """Return the row of the decision table about the names of the classes.

    Parameters
    ----------
    candidates : Candidates
    decision : Decision
    share : float
        Share of the names in the vote.
    why : str
        Reason why names do not vote; empty if they do.

    Returns
    -------
    dict
    """
    names = candidates.names
    assert names is not None
    agreement = names.model.agreement_
    row: dict = {"method": NAMES, "chosen": not why}
    if not candidates.added:
        row["weight"] = 0.0 if why else round(share, 3)
    if why:
        reason = f"not counted: {why}"
    elif candidates.added:
        reason = f"adds classes that only their names describe: {', '.join(map(str, candidates.added))}"
    else:
        reason = "the names of the classes mean what their documents are about"
    if agreement is not None:
        reason += f"; names alone get {agreement.right:.0%} of the source's labels right"
    return row | agreement_and_seconds(names, decision.labels) | {"why": reason}

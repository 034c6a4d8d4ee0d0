"""Define the errors and warnings that a user may catch, each with a stable code.

A code is a word and never changes its meaning. ``isthmus.exceptions.CODES`` lists all codes. The command prints the
code in brackets after the message, so that a script can search for it.
"""

CODES = {
    # arrays and labels
    "no-rows": "There are no documents at all.",
    "length-mismatch": "Two inputs that describe the same rows have different lengths.",
    "not-finite": "A matrix holds NaN or infinity.",
    "not-numbers": "A matrix holds something other than real numbers.",
    "out-of-range": "A matrix holds numbers too large to compute with.",
    "negative-counts": "A matrix that must hold counts has negative entries.",
    "not-text": "Texts were expected and something else was given.",
    "bad-domain": "sample_domain is not one non-zero integer per row.",
    "bad-labels": "Labels are of a kind that cannot name classes (several columns, measurements).",
    "labels-not-classes": "The label column holds several labels a cell, dates, ids, numbers or free text.",
    "no-labels": "No source document carries a label.",
    "one-class": "The source labels name only one class.",
    "no-target": "There is no target document.",
    "empty-class": "A class has no words in its source documents.",
    "no-shared-words": "Source and target share no words.",
    "empty-vocabulary": "No word is left: all texts are empty, or the frequency threshold removed every word.",
    "bad-parameter": "A parameter has a value outside its range.",
    "bad-kernel": "A kernel matrix is not square, not symmetric or not finite.",
    "bad-word-labels": "Word labels contradict each other or name unknown classes.",
    "bad-answers": "A table of answers contradicts itself, is empty or is about other documents.",
    "machine-labels": "The labels of a source were given by Isthmus, not by a person.",
    "bad-check": "A checked sample is empty, contradicts itself, belongs to another labelling or was learned from.",
    # files and the command
    "missing-file": "A file that was named does not exist.",
    "not-a-file": "A folder was given where a file was expected.",
    "outside-folder": "A symbolic link in a folder leads out of that folder.",
    "empty-file": "A file or folder holds no documents.",
    "unreadable-file": "A file could not be read as the format that its name says.",
    "bad-encoding": "A file's bytes are not text in any encoding that was tried.",
    "nul-bytes": "A file holds NUL bytes, so it is not a text file.",
    "unknown-column": "A column that was named is not in the file.",
    "no-text-column": "No column looks like text.",
    "no-label-column": "No column looks like labels.",
    "unknown-format": "The file's ending names no format that can be read or written.",
    "output-exists": "The output exists and was not to be replaced.",
    "output-unwritable": "The output cannot be written where it was asked for.",
    "unknown-method": "No method has this name.",
    "labeller-failed": "A labeller cannot be run, ended with an error, took too long or left texts unanswered.",
    "labeller-labels": "A labeller answered with something that is not a class.",
    "bad-method": "An estimator given as the method does not keep the transfer contract.",
    "unknown-name": "No data set, task or suite has this name.",
    "missing-data": "The benchmark data folder or a file in it is not there.",
    "file-trouble": "The system refused to read or write a file (full disk, name too long, no permission).",
    "too-large": "There is not enough memory for this.",
    "bad-rows": "Rows of a large input could not be read, and it was not said to set them aside.",
    "other-run": "The folder holds a stopped run with other inputs or options, or one that was not said to go on.",
    "lost-cluster": "The dask scheduler or its workers do not answer any more.",
    "missing-vectors": "Vectors were given for the fitted texts and are missing for others.",
    "missing-extra": "An optional package is not installed.",
    "bad-model": "A saved model is damaged or of another version, or a result cannot be saved.",
    # workspaces
    "bad-workspace": "A workspace is damaged, misses a file or was written by a newer version.",
    "workspace-away": "The database of a workspace does not answer, or its disk is full; nothing was changed.",
    "not-found": "No project, collection, document, run or person has this id.",
    "name-taken": "Another person has this name already.",
    # warnings
    "empty-documents": "Some documents have no known word; they are kept.",
    "two-languages": "Source and target are in two languages.",
    "duplicate-ids": "Some ids occur more than once.",
    "data-checks": "The data has oddities worth a look.",
    "not-converged": "An iterative method stopped at its limit.",
    "adaptation-stopped": "Adaptation to the target was stopped where its own labels led it astray.",
    "approximation": "An exact computation was replaced by a stated approximation.",
    "tied-classes": "Classes tie, and their sorted order decided.",
    "fallback": "A simpler method was used, for the reason given.",
    "unknown-words": "Labelled words that no document holds; they are kept for later.",
    "no-encoder": "A sentence encoder would probably help, and none was used.",
    "weak-bridge": "Source and target share few words.",
    "guarded-cells": "Cells that a spreadsheet would run as formulas were written with an apostrophe before them.",
}


class IsthmusError(Exception):
    """Serve as base class of all Isthmus errors.

    Parameters
    ----------
    message : str
        Given value, expected value and advice, in one or two sentences.
    code : str
        A key of ``CODES``.

    Examples
    --------
    >>> from isthmus.exceptions import DataError
    >>> try:
    ...     raise DataError("Source labels name one class, 'staff'; two are needed.", code="one-class")
    ... except DataError as error:
    ...     print(error.code)
    one-class
    """

    def __init__(self, message: str, *, code: str):
        """Store the message and the code."""
        if code not in CODES:
            raise KeyError(f"unknown error code {code!r}")
        super().__init__(message)
        self.code = code

    def __reduce__(self):
        """Support pickling, for errors in other processes."""
        # The default would call the class without its keyword argument and fail in the receiving process.
        return _rebuild, (type(self), str(self), self.code)


class DataError(IsthmusError, ValueError):
    """Report data that cannot be used."""


class UsageError(IsthmusError, ValueError):
    """Report an argument or option that is wrong for any data."""

    def __init__(self, message: str, *, code: str = "bad-parameter"):
        """Store the message and the code."""
        super().__init__(message, code=code)


class MissingExtraError(IsthmusError, ImportError):
    """Report an optional dependency that is needed and not installed."""


class IsthmusWarning(UserWarning):
    """Serve as base class of all Isthmus warnings.

    Parameters
    ----------
    message : str
        Observation and advice, in one or two sentences.
    code : str
        A key of ``CODES``.
    """

    def __init__(self, message: str, *, code: str = "data-checks"):
        """Store the message and the code."""
        if code not in CODES:
            raise KeyError(f"unknown warning code {code!r}")
        super().__init__(message)
        self.code = code


def _rebuild(kind, message, code):
    """Create an error from its pickled parts."""
    return kind(message, code=code)

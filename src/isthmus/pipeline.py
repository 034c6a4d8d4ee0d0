"""Pipelines from raw text to labels that understand ``sample_domain``."""

from __future__ import annotations

from sklearn import get_config
from sklearn.pipeline import Pipeline, _name_estimators
from sklearn.utils.validation import has_fit_parameter

from isthmus._utils import return_memory
from isthmus._validation import mask_target, read_domain
from isthmus.exceptions import UsageError


class TransferPipeline(Pipeline):
    """A scikit-learn pipeline whose ``fit`` takes ``sample_domain`` and hands it to the steps that want it.

    Works with and without scikit-learn's metadata routing; the global configuration is not touched. Fitted attributes
    of the last step (``transduction_``, ``history_`` and so on) can be read from the pipeline. A last step that learns
    from labelled words gets the vectoriser's columns and its reading of those words (lower case, stems); one that reads
    names of classes gets the way from texts to rows.

    See Also
    --------
    isthmus.make_transfer_pipeline : The short way to make one.
    """

    def fit(self, X, y=None, sample_domain=None, **params):
        """Fit every step on the rows of all domains together; no step sees a label of a target row."""
        y, params = self._route(X, y, sample_domain, params)
        return super().fit(X, y, **params)

    def fit_transform(self, X, y=None, sample_domain=None, **params):
        """Fit every step and transform the same rows."""
        y, params = self._route(X, y, sample_domain, params)
        return super().fit_transform(X, y, **params)

    def fit_predict(self, X, y=None, sample_domain=None, **params):
        """Fit every step and predict for the same rows."""
        y, params = self._route(X, y, sample_domain, params)
        return super().fit_predict(X, y, **params)

    def fit_rows(self, X, y, sample_domain):
        """Fit every step as :meth:`fit` does, and return the rows that the last step was fitted on.

        For those who need the rows or the answers for them again: nothing has to be read twice.
        """
        y = mask_target(y, read_domain(sample_domain, len(y)))
        for _, step in self.steps[:-1]:
            X = step.fit_transform(X)
        return_memory()
        self._hand_names_on()
        self.steps[-1][1].fit(X, y, sample_domain=sample_domain)
        return X

    def _route(self, X, y, sample_domain, params):
        """Labels with those of target rows masked, and parameters that take ``sample_domain`` to its steps."""
        if sample_domain is None:
            return y, params
        if y is not None:
            y = mask_target(y, read_domain(sample_domain, len(y)))
        if get_config()["enable_metadata_routing"]:
            return y, {**params, "sample_domain": sample_domain}
        takers = [name for name, step in self.steps if has_fit_parameter(step, "sample_domain")]
        if not takers:
            raise UsageError(
                "No step of the pipeline takes sample_domain, so none could tell source from target; end it with an "
                "Isthmus estimator, or switch scikit-learn's metadata routing on for nested ones.",
                code="bad-parameter",
            )
        return y, {**params, **{f"{name}__sample_domain": sample_domain for name in takers}}

    def _fit(self, *args, **kwargs):
        rows = super()._fit(*args, **kwargs)
        self._hand_names_on()
        return rows

    def _hand_names_on(self):
        """Columns and reading of words to a last step that learns from labelled words, of texts to one of names."""
        method = self.steps[-1][1]
        if hasattr(method, "read_texts") and len(self.steps) > 1:
            method.read_texts(self[:-1].transform)
        if hasattr(method, "read_names"):
            for _, step in self.steps[:-1]:
                if hasattr(step, "analyze") or hasattr(step, "build_analyzer"):
                    method.read_names(step)

    def __getattr__(self, name):
        # Only fitted attributes are looked up in the last step; "steps" itself may be missing while unpickling. The
        # number and names of input columns are the first step's business.
        own = name.startswith("_") or name in ("n_features_in_", "feature_names_in_")
        if name.endswith("_") and not own and "steps" in self.__dict__ and self.steps:
            return getattr(self.steps[-1][1], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def make_transfer_pipeline(*steps, memory=None, verbose=False) -> TransferPipeline:
    """Pipeline from raw text to labels that understands ``sample_domain``.

    Parameters
    ----------
    *steps : estimators
        Vectoriser first, classifier last; names are made from the types, as in scikit-learn.
    memory, verbose
        As for :class:`sklearn.pipeline.Pipeline`.

    See Also
    --------
    isthmus.pipeline.TransferPipeline : What it makes.
    isthmus.methods.make_method : Ready-made pipelines by name.

    Examples
    --------
    >>> from isthmus import SourceOnlyClassifier, make_transfer_pipeline
    >>> from isthmus.features import TextVectorizer
    >>> texts = ["kind staff", "great bike", "polite staff", "fast bike", "rude staff", "slow bike"]
    >>> labels = ["staff", "product", "staff", "product", None, None]
    >>> pipeline = make_transfer_pipeline(TextVectorizer(min_df=1), SourceOnlyClassifier())
    >>> pipeline.fit(texts, labels).transduction_[-2:].tolist()
    ['staff', 'product']
    """
    return TransferPipeline(_name_estimators(steps), memory=memory, verbose=verbose)

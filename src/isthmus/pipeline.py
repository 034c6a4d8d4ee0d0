"""Build pipelines from raw text to labels that accept ``sample_domain``."""

from __future__ import annotations

from sklearn import get_config
from sklearn.pipeline import Pipeline, _name_estimators
from sklearn.utils.validation import has_fit_parameter

from isthmus._utils import return_memory
from isthmus._validation import mask_target, read_domain
from isthmus.exceptions import UsageError


class TransferPipeline(Pipeline):
    """Extend scikit-learn's pipeline: ``fit`` takes ``sample_domain`` and passes it to the steps that accept it.

    The pipeline works with and without scikit-learn's metadata routing and does not change the global configuration. It
    exposes the fitted attributes of the last step (``transduction_``, ``history_`` and others). If the last step learns
    from labelled words, the pipeline gives it the vectoriser's columns and the vectoriser's analysis of words (lower
    case, stems). If the last step learns from names of classes, the pipeline gives it the transformation of texts to
    rows.

    See Also
    --------
    isthmus.make_transfer_pipeline : Creates a pipeline from its steps.
    """

    def fit(self, X, y=None, sample_domain=None, **params):
        """Fit every step on the rows of all domains; hide the labels of target rows from all steps.

        Parameters
        ----------
        X : sequence
            Rows of all domains, usually texts.
        y : array-like of shape (n_rows,), optional
            Labels; -1, None or NaN where unknown.
        sample_domain : array-like of int, optional
            Positive for source rows, negative for target rows.
        **params
            Parameters of steps, as for :class:`sklearn.pipeline.Pipeline`.

        Returns
        -------
        self
        """
        y, params = self._route(X, y, sample_domain, params)
        return super().fit(X, y, **params)

    def fit_transform(self, X, y=None, sample_domain=None, **params):
        """Fit every step and transform the same rows.

        Parameters
        ----------
        X : sequence
            As for :meth:`fit`.
        y : array-like of shape (n_rows,), optional
            As for :meth:`fit`.
        sample_domain : array-like of int, optional
            As for :meth:`fit`.
        **params
            As for :meth:`fit`.

        Returns
        -------
        ndarray or sparse matrix of shape (n_rows, n_features)
        """
        y, params = self._route(X, y, sample_domain, params)
        return super().fit_transform(X, y, **params)

    def fit_predict(self, X, y=None, sample_domain=None, **params):
        """Fit every step and predict the classes of the same rows.

        Parameters
        ----------
        X : sequence
            As for :meth:`fit`.
        y : array-like of shape (n_rows,), optional
            As for :meth:`fit`.
        sample_domain : array-like of int, optional
            As for :meth:`fit`.
        **params
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        y, params = self._route(X, y, sample_domain, params)
        return super().fit_predict(X, y, **params)

    def fit_rows(self, X, y, sample_domain):
        """Fit every step as :meth:`fit` does, and return the input of the last step.

        A caller that needs the rows again saves a second transformation of the texts.

        Parameters
        ----------
        X : sequence
            As for :meth:`fit`.
        y : array-like of shape (n_rows,)
            As for :meth:`fit`.
        sample_domain : array-like of int
            As for :meth:`fit`.

        Returns
        -------
        sequence or matrix
            Input of the last step.
        """
        y = mask_target(y, read_domain(sample_domain, len(y)))
        for _, step in self.steps[:-1]:
            X = step.fit_transform(X)
        # Vectorisers free many small chunks, which would count as used memory during the last fit.
        return_memory()
        self._hand_names_on()
        self.steps[-1][1].fit(X, y, sample_domain=sample_domain)
        return X

    def _route(self, X, y, sample_domain, params):
        """Return the labels without those of target rows, and the parameters that pass ``sample_domain`` to steps."""
        if sample_domain is None:
            return y, params
        if y is not None:
            y = mask_target(y, read_domain(sample_domain, len(y)))
        # With metadata routing, each step requests the parameter itself.
        if get_config()["enable_metadata_routing"]:
            return y, {**params, "sample_domain": sample_domain}
        # Without metadata routing, scikit-learn passes a parameter to a step only with the prefix of its name.
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
        """Pass column names and the analysis or transformation of texts to a last step that needs them."""
        method = self.steps[-1][1]
        if hasattr(method, "read_texts") and len(self.steps) > 1:
            method.read_texts(self[:-1].transform)
        if hasattr(method, "read_names"):
            for _, step in self.steps[:-1]:
                if hasattr(step, "analyze") or hasattr(step, "build_analyzer"):
                    method.read_names(step)

    def __getattr__(self, name):
        """Return a fitted attribute of the last step."""
        # Only fitted attributes come from the last step; "steps" itself may be missing while unpickling. The number
        # and the names of input columns belong to the first step.
        own = name.startswith("_") or name in ("n_features_in_", "feature_names_in_")
        if name.endswith("_") and not own and "steps" in self.__dict__ and self.steps:
            return getattr(self.steps[-1][1], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def make_transfer_pipeline(*steps, memory=None, verbose=False) -> TransferPipeline:
    """Return a pipeline from raw text to labels that accepts ``sample_domain``.

    Parameters
    ----------
    *steps : estimators
        Vectoriser first, classifier last; names are made from the types, as in scikit-learn.
    memory, verbose
        As for :class:`sklearn.pipeline.Pipeline`.

    Returns
    -------
    TransferPipeline

    See Also
    --------
    isthmus.pipeline.TransferPipeline : The returned class.
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

"""Build an unfitted pipeline of raw texts from the ``method`` of :func:`isthmus.label`, a name or an estimator."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from isthmus.base import check_parameters
from isthmus.exceptions import UsageError
from isthmus.features.vectorizer import TextVectorizer
from isthmus.methods import METHODS, Options, get_method
from isthmus.pipeline import TransferPipeline, make_transfer_pipeline


def build_method(
    method: Any, *, parameters: Mapping[str, Any] | None = None, **options: Any
) -> tuple[TransferPipeline, str]:
    """Build the unfitted pipeline of a method and return it with its name.

    Parameters
    ----------
    method : str or estimator
        Name of a method, or an estimator or pipeline; see :func:`adapt_estimator`.
    parameters : mapping, optional
        Parameters of the named method's estimator; they replace those of the method.
    **options
        Fields of ``methods.Options``.

    Returns
    -------
    pipeline : TransferPipeline
    name : str
        The name of the method, or the class name of the estimator.
    """
    if not isinstance(method, str):
        if parameters:
            raise UsageError("The method is an estimator; give it its parameters itself.", code="bad-parameter")
        pipeline = adapt_estimator(method, **options)
        return pipeline, type(pipeline.steps[-1][1]).__name__
    recipe = get_method(method)
    if options.get("word_labels") and not recipe.takes_words:
        takers = ", ".join(name for name, other in METHODS.items() if other.takes_words)
        raise UsageError(f"Method {method!r} uses no labelled words; use one of {takers}.", code="bad-word-labels")
    pipeline = recipe.build_with(**options)
    set_parameters(pipeline.steps[-1][1], parameters or {}, method)
    return pipeline, method


def set_parameters(estimator: Any, parameters: Mapping[str, Any], method: str) -> None:
    """Set parameters of a method's estimator.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    parameters : mapping of str to value
    method : str
        Name of the method, for messages.

    Raises
    ------
    UsageError
        With code ``bad-parameter`` if a name is unknown; values that are not allowed are refused too.
    """
    known = estimator.get_params()
    for name in parameters:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]}?" if close else f"it has {', '.join(estimator.get_params(deep=False))}."
            raise UsageError(f"Method {method!r} has no parameter {name[:40]!r}; {meant}", code="bad-parameter")
    estimator.set_params(**parameters)
    if hasattr(type(estimator), "_parameter_constraints"):
        check_parameters(estimator)


def read_parameters(given: Sequence[str]) -> dict[str, Any]:
    """Read parameters that were typed as ``NAME=VALUE``.

    Parameters
    ----------
    given : sequence of str

    Returns
    -------
    dict
        Values are numbers, true, false, none or pairs such as 5,8; any other value is a string.
    """
    words = {"none": None, "true": True, "false": False}
    found: dict[str, Any] = {}
    for pair in given:
        name, sign, text = pair.partition("=")
        if not name or not sign:
            raise UsageError(
                f"Parameter {pair[:60]!r} has no value; give NAME=VALUE, such as max_iter=5.", code="bad-parameter"
            )
        try:
            found[name.strip()] = words[text.lower()] if text.lower() in words else literal_eval(text)
        except (ValueError, SyntaxError):
            found[name.strip()] = text
    return found


def check_takes_classes(method: Any) -> None:
    """Refuse a method that cannot use names of classes.

    Parameters
    ----------
    method : str or estimator
    """
    if method == "auto" or (isinstance(method, str) and get_method(method).takes_classes):
        return
    takers = ", ".join(name for name, recipe in METHODS.items() if recipe.takes_classes)
    raise UsageError(
        f"Method {method!r} does not read names of classes; use auto or {takers}, or leave classes out.",
        code="bad-parameter",
    )


def check_typed(method: str, given: Sequence[str]) -> None:
    """Refuse typed parameters that the method does not have or allow, before anything is fitted.

    Parameters
    ----------
    method : str
    given : sequence of str
        ``NAME=VALUE``.
    """
    if not given:
        return
    if method == "auto":
        raise UsageError("Parameters are for one method; name it instead of auto.", code="bad-parameter")
    build_method(method, parameters=read_parameters(given))


def adapt_estimator(estimator: Any, **options: Any) -> TransferPipeline:
    """Build an unfitted pipeline of raw texts from a copy of an estimator or pipeline.

    The estimator must follow the transfer contract: ``fit`` takes ``sample_domain``, and it has ``predict_proba``.

    A pipeline is used unchanged, and so is an estimator of texts (tag ``input_tags.string``). An estimator of matrices
    gets a :class:`isthmus.features.TextVectorizer` in front: counts if it needs non-negative entries (tag
    ``input_tags.positive_only``), tf-idf otherwise.

    Parameters
    ----------
    estimator : estimator or pipeline
    **options
        Fields of ``methods.Options``. ``word_labels`` goes to an estimator with such a parameter, and ``random_state``
        to every parameter of that name that is None.

    Returns
    -------
    TransferPipeline

    Raises
    ------
    UsageError
        If the estimator does not follow the contract (``bad-method``), or does not accept an option.
    """
    settings = Options(**options)
    method = _last_step(estimator)
    _check_contract(method)
    if isinstance(estimator, Pipeline):
        pipeline, reads_own_way = clone(estimator), True
        if not isinstance(pipeline, TransferPipeline):  # that of scikit-learn does not pass sample_domain on
            pipeline = TransferPipeline(pipeline.steps, memory=pipeline.memory, verbose=pipeline.verbose)
    else:
        tags = get_tags(estimator).input_tags
        vectorizer = TextVectorizer(
            analyzer=settings.analyzer,
            min_df=settings.min_df,
            language=settings.language,
            weighting="counts" if tags.positive_only else "tfidf",
        )
        pipeline = make_transfer_pipeline(*([] if tags.string else [vectorizer]), clone(estimator))
        reads_own_way = tags.string
    if reads_own_way and (settings.analyzer, settings.min_df) != ("auto", "auto"):
        raise UsageError(
            f"{type(estimator).__name__} reads texts in its own way, so analyzer and min_df cannot be set here; "
            "leave them out.",
            code="bad-parameter",
        )
    _give_words(pipeline.steps[-1][1], settings.word_labels)
    seeds = {name: value for name, value in pipeline.get_params().items() if name.split("__")[-1] == "random_state"}
    unset = [name for name, value in seeds.items() if value is None]
    return pipeline.set_params(**dict.fromkeys(unset, settings.random_state))


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) and estimator.steps else estimator


def _check_contract(method: Any) -> None:
    if isinstance(method, type):
        raise UsageError(
            f"method is the class {method.__name__}; give an instance of it: {method.__name__}().", code="bad-method"
        )
    kind = type(method).__name__
    if not (hasattr(method, "fit") and hasattr(method, "get_params")):
        raise UsageError(
            f"method is {kind}; give the name of a recipe ({', '.join(METHODS)}), an estimator or a pipeline.",
            code="bad-method",
        )
    if not has_fit_parameter(method, "sample_domain"):
        raise UsageError(
            f"{kind} does not take sample_domain in fit, so it cannot tell source from target; wrap a scikit-learn "
            f"classifier as isthmus.SourceOnlyClassifier({kind}()), or derive from isthmus.base.TransferClassifier.",
            code="bad-method",
        )
    if not hasattr(method, "predict_proba"):
        raise UsageError(
            f"{kind} has no predict_proba, so it cannot say how sure it is of a label; give it that method.",
            code="bad-method",
        )


def check_labelled(model: Any) -> None:
    """Refuse a fitted model that has not stored its classes and the labels of the fitted rows.

    Parameters
    ----------
    model : estimator or pipeline
    """
    missing = [name for name in ("classes_", "transduction_") if not hasattr(model, name)]
    if missing:
        raise UsageError(
            f"{type(_last_step(model)).__name__} has no {' and no '.join(missing)} after fit; store the classes, and "
            "the label of every fitted row, there.",
            code="bad-method",
        )


def _give_words(method: Any, word_labels: Mapping | None) -> None:
    if not word_labels:
        return
    if "word_labels" not in method.get_params(deep=False):
        raise UsageError(
            f"{type(method).__name__} does not learn from labelled words; use isthmus.ManifoldDualClassifier, or leave "
            "word_labels out.",
            code="bad-word-labels",
        )
    if method.word_labels is not None:
        raise UsageError(
            f"word_labels was given twice, to isthmus.label and to {type(method).__name__}; give it once.",
            code="bad-word-labels",
        )
    method.set_params(word_labels=word_labels)

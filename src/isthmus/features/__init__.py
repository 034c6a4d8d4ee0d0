"""Vectorise: from texts to sparse counts over the joint vocabulary of both domains."""

from isthmus._lazy import lazy_names

# Public name -> module. Lazy, so that reading tokens does not load kernels.
_PUBLIC = {
    "LatentSemantics": "isthmus.features.latent",
    "TermProjection": "isthmus.features.projection",
    "TextEmbedder": "isthmus.features.embeddings",
    "TextVectorizer": "isthmus.features.vectorizer",
    "chi2": "isthmus.features.term_chi2",
    "embed_texts": "isthmus.features.embeddings",
    "guess_language": "isthmus.features.languages",
    "guess_languages": "isthmus.features.languages",
    "identify_language": "isthmus.features.languages",
    "tf_chi2": "isthmus.features.term_chi2",
    "tokenize_words": "isthmus.features.tokens",
    "weigh_tfidf": "isthmus.features.weights",
}

__all__ = sorted(_PUBLIC)


__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)

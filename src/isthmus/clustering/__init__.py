"""Cross-guided k-means and the alignment of clusters with source groups."""

from isthmus._lazy import lazy_names

_PUBLIC = {
    "CrossGuidedKMeans": "isthmus.clustering.guided",
    "GuidanceEstimate": "isthmus.clustering.guidance",
    "Match": "isthmus.clustering.alignment",
    "estimate_guidance_gain": "isthmus.clustering.guidance",
}

__all__ = sorted(_PUBLIC)

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)

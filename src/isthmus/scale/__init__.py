"""Files larger than memory, and clusters: the same statistics of blocks, on one machine or on many."""

from isthmus._lazy import lazy_names

__all__ = ["LargeClusters", "LargeResult", "cluster_files", "label_files"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LargeClusters": "isthmus.scale.cluster",
        "LargeResult": "isthmus.scale.label",
        "cluster_files": "isthmus.scale.cluster",
        "label_files": "isthmus.scale.label",
    },
)

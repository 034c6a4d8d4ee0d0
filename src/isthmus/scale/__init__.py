"""Files larger than memory, and clusters: the same statistics of blocks, on one machine or on many."""

from isthmus._lazy import lazy_names

__all__ = ["METHODS", "LargeResult", "label_files"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "METHODS": "isthmus.scale.methods.registry",
        "LargeResult": "isthmus.scale.run",
        "label_files": "isthmus.scale.run",
    },
)

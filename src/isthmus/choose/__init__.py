"""Judge: how far to trust labels, without target labels."""

from isthmus.choose.trust import review_mask

__all__ = ["review_mask"]

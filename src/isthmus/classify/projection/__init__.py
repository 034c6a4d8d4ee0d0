"""Term projection: one feature per class (Zheng and others, AIRS 2009)."""

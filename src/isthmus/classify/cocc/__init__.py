"""CoCC: co-clustering based classification (Dai and others, KDD 2007)."""

"""Group: cross-guided k-means, the alignment of clusters with source groups, and plain clusterings to compare with."""

"""Classes that are given by their names: settling among the target's documents, and the classifier over it."""

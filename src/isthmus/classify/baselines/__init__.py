"""Baselines: source only, self-training, and methods that the papers compare themselves with."""

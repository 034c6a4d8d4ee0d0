"""Baselines that only the benchmarks need."""

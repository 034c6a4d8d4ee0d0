"""Fit and apply the stages of a result: ``apply.py`` applies all stages, the other modules fit one stage each."""

"""Stages of a result: ``apply.py`` holds their ``apply``, the other modules fit one stage each."""

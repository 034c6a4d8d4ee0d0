"""Provide the functions of ``import isthmus``, one file per verb."""

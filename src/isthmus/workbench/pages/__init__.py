"""The pages, one file per part of the work."""

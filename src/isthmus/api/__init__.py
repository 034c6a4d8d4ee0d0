"""Say: what `import isthmus` offers in one call. One file per verb."""

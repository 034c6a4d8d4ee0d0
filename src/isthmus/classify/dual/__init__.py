"""Dual supervision: labelled documents and labelled words together (Sindhwani and others, NIPS 2008)."""

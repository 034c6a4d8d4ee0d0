"""Transductive string kernels (Ionescu and Butnaru, ICONIP 2018)."""

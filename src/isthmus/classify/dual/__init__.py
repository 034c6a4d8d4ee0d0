"""Dual supervision: labels of documents and of words (Sindhwani, Hu and Mojsilovic, NIPS 2008), with linear kernels."""

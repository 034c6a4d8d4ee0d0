"""Speed and memory against peers: one module per method, each with a tuple ``CASES``."""

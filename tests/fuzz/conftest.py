"""Helpers of this folder are importable by name (tests are collected without a package)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

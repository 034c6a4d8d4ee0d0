"""Small tables: comments made of a few words, written and read as csv."""

import csv
from pathlib import Path

import numpy as np


def make_texts(words, n, seed, visits=99):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, 3)) + f" visit {rng.integers(visits)}" for _ in range(n)]


def write_csv(name, columns):
    with Path(name).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def read_csv(name):
    with Path(name).open(newline="") as file:
        return list(csv.DictReader(file))

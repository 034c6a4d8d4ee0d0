"""Small guided tasks with a known answer."""

import numpy as np
import pytest
import scipy.sparse as sp


def make_task(n_topics=3, n=40, n_shared=12, n_private=8, seed=0, noise=0.15):
    """Topic words shared by both domains, words of one domain alone, and common words; source first."""
    rng = np.random.default_rng(seed)
    n_common = 6
    width = n_topics * (n_shared + 2 * n_private) + n_common
    rows, groups = [], []
    for side in (0, 1):
        for topic in range(n_topics):
            base = topic * (n_shared + 2 * n_private)
            shared = np.arange(base, base + n_shared)
            private = base + n_shared + side * n_private + np.arange(n_private)
            other = np.arange(n_topics * (n_shared + 2 * n_private))
            common = np.arange(width - n_common, width)
            for _ in range(n):
                words = [*rng.choice(shared, 6), *rng.choice(private, 4), *rng.choice(common, 4)]
                words += list(rng.choice(other, int(10 * noise)))
                rows.append(np.bincount(words, minlength=width))
                groups.append(topic)
    domain = np.repeat([1, -1], n_topics * n)
    return sp.csr_matrix(np.array(rows, dtype=float)), np.array(groups), domain


@pytest.fixture(scope="session")
def task():
    """X, true groups, sample_domain of an easy task with three topics."""
    return make_task()


@pytest.fixture(scope="session")
def build_task():
    return make_task

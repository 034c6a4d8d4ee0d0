"""Latent semantics: the leading directions, whatever the order of the rows."""

import numpy as np
import scipy.sparse as sp

from isthmus.features import LatentSemantics
from isthmus.features.latent import leading_directions


def random_rows(seed=0):
    return sp.random(80, 50, density=0.2, random_state=seed, format="csr")


def test_directions_agree_with_the_exact_decomposition():
    rows = random_rows()
    directions, values = leading_directions(rows, 45)
    exact = np.linalg.svd(rows.toarray())
    np.testing.assert_allclose(values[:10], exact[1][:10], rtol=1e-6)
    np.testing.assert_allclose(np.abs(directions[:, 0]), np.abs(exact[2][0]), atol=1e-6)


def test_row_order_changes_only_rounding():
    rows = random_rows()
    order = np.random.default_rng(3).permutation(80)
    first = LatentSemantics(10, random_state=0).fit_transform(rows)
    second = LatentSemantics(10, random_state=0).fit_transform(rows[order])
    np.testing.assert_allclose(first[order], second, atol=1e-8)


def test_fewer_directions_where_there_are_fewer_terms():
    assert LatentSemantics(200, random_state=0).fit_transform(random_rows()).shape == (80, 50)

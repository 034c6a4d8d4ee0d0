"""Small checks of Ionescu and Butnaru 2018 on real reviews: a quarter of two pairs, a few seconds."""

import numpy as np
import pytest

from isthmus import StringKernel
from isthmus.papers.strings import rbf_kernel, transductive_kernel, two_rounds
from isthmus_bench.suites.strings import SUITE, variant_labels


@pytest.fixture(scope="module")
def quarter(data_dir):
    """Every fourth review of electronics (source) and kitchen (target), and their presence kernel."""
    data = SUITE.tasks["electronics-kitchen"].load(data_dir)
    texts, labels, domain = data.joined()
    truth = np.array([*data.source_labels, *data.target_labels])
    kept = np.arange(0, len(texts), 4)
    K = StringKernel().gram([texts[i] for i in kept], normalize=True)
    return K, labels[kept], domain[kept], truth[kept]


@pytest.mark.data
def test_each_step_of_the_paper_works_on_reviews(quarter):
    K, _, domain, truth = quarter
    source, target = np.flatnonzero(domain > 0), np.flatnonzero(domain < 0)
    classes, codes = np.unique(truth[source], return_inverse=True)
    plain = variant_labels(K, codes, source, target, transductive=False, rbf=False, max_iter=1)
    first, second, _, _ = two_rounds(transductive_kernel(rbf_kernel(K)), source, codes, target, 2)
    plain, first, second = (
        np.mean(classes[found] == truth[target]) for found in (plain, first.argmax(axis=1), second.argmax(axis=1))
    )
    assert plain > 0.75
    assert first > plain - 0.02
    assert second > plain


@pytest.mark.data
def test_tasks_have_2000_reviews_a_domain(data_dir):
    data = SUITE.tasks["multi-books"].load(data_dir)
    assert len(data.source_texts) == 6000
    assert sorted(set(data.source_domain)) == [1, 2, 3]
    assert data.target_labels.count("positive") == 1000
    text_only = SUITE.tasks["multi-books-text"].load(data_dir)
    assert len(text_only.target_texts[0]) < len(data.target_texts[0])

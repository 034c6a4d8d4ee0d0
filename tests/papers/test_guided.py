"""Cross-guided clustering on the newsgroups: the effect over a few starts, and its absence without guidance."""

import numpy as np
import pytest

from isthmus.clustering.alignment import guided_kmeans
from isthmus.clustering.guidance import estimate_guidance_gain
from isthmus.evaluate import pair_scores
from isthmus_bench.baselines.groups import plain_kmeans
from isthmus_bench.suites.guided_tasks import TASKS, Collections

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def newsgroups(data_dir):
    data = TASKS["newsgroups"].load(data_dir)
    return Collections(data.source_texts, data.source_labels, data.target_texts, 5), data.target_labels


def test_guidance_beats_plain_kmeans_from_the_same_starts(newsgroups):
    ready, truth = newsgroups
    gains = []
    for seed in range(6):
        start = ready.start(seed)
        guided = guided_kmeans(ready.prepared(), start, guidance=0.5, max_iter=25)
        gains.append(pair_scores(truth, guided.labels).f1 - pair_scores(truth, plain_kmeans(ready.target, start)).f1)
    assert np.mean(gains) > 0.05


def test_no_guidance_is_the_kmeans_of_the_same_start(newsgroups):
    ready, _ = newsgroups
    start = ready.start(0)
    np.testing.assert_array_equal(
        guided_kmeans(ready.prepared(), start, guidance=0.0, max_iter=25).labels, plain_kmeans(ready.target, start)
    )


def test_foresight_says_that_this_source_helps(newsgroups):
    ready, _ = newsgroups
    assert estimate_guidance_gain(ready.prepared(), n_clusters=5, n_init=2).helps

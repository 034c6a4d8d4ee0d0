"""Speed of cross-guided k-means: one iteration against scikit-learn's KMeans, and a whole fit with its memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from isthmus_bench.engine.suite import SpeedCase

N_WORDS, N_CLUSTERS, WORDS_PER_DOCUMENT = 50_000, 50, 100
ITERATIONS = 25


def made_rows(n: int, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Unit rows of about 100 distinct words: half drawn from all words, half from the row's topic, both Zipf-like."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(N_CLUSTERS, size=n)
    size = n * WORDS_PER_DOCUMENT
    ranks = np.minimum(rng.pareto(0.9, size) * 20, N_WORDS - 1).astype(np.int64)
    own = rng.random(size) < 0.5
    shift = np.repeat(topics, WORDS_PER_DOCUMENT) * (N_WORDS // N_CLUSTERS)
    words = np.where(own, (ranks % 900 + shift) % N_WORDS, (ranks * 7919) % N_WORDS)
    rows = np.repeat(np.arange(n), WORDS_PER_DOCUMENT)
    X = sp.csr_matrix((np.ones(size), (rows, words)), shape=(n, N_WORDS))
    X.sum_duplicates()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1.0 / lengths) @ X), topics


def time_iteration(n: int) -> dict:
    """Seconds of one iteration, ours (one thread and all cores) and scikit-learn's, from the same centres."""
    from sklearn.cluster import KMeans

    from isthmus._utils import n_threads
    from isthmus.clustering.kmeans import kmeans

    X, _ = made_rows(n)
    start = X[np.random.default_rng(1).choice(n, N_CLUSTERS, replace=False)].toarray()
    kmeans(X[:200], start, max_iter=1)  # compile before the clock starts
    threads = n_threads(-1)
    rounds = 4
    began, cpu = time.perf_counter(), time.process_time()
    ours = kmeans(X, start, max_iter=rounds, n_threads=threads)
    passes = ours.n_iter + 1  # the last pass assigns to the final centres
    ours_s, ours_cpu = (time.perf_counter() - began) / passes, (time.process_time() - cpu) / passes
    began, cpu = time.perf_counter(), time.process_time()
    peer = KMeans(N_CLUSTERS, init=start, n_init=1, max_iter=rounds, tol=0, algorithm="lloyd").fit(X)
    passes = peer.n_iter_ + 1
    peer_s, peer_cpu = (time.perf_counter() - began) / passes, (time.process_time() - cpu) / passes
    return {
        "ours_s": ours_cpu,
        "peer": "scikit-learn KMeans, one iteration",
        "peer_s": peer_cpu,
        "clock": "cpu",
        "n": n,
        "nonzeros": int(X.nnz),
        "threads": threads,
        "wall_s": ours_s,
        "peer_wall_s": peer_s,
        "cpu_nanoseconds_per_nonzero": ours_cpu / X.nnz * 1e9,
        "difference": int(np.sum(ours.labels != peer.labels_)),
        # A word's row of centres is read for each entry: all rows together are larger than a core's caches.
        "operations": 2 * int(X.nnz) * (N_CLUSTERS + 1),
        "moved_bytes": int(X.nnz) * (2 * 12 + 4 * N_CLUSTERS),
    }


_WHOLE = """
import json, resource, sys, time
import numpy as np, scipy.sparse as sp
from isthmus import CrossGuidedKMeans
from isthmus_bench.speed.guided import ITERATIONS, N_CLUSTERS, made_rows
n = int(sys.argv[1])
X, topics = made_rows(n + n // 10)
domain = np.r_[np.ones(n // 10, int), np.full(n, -1)]
small = slice(n // 10 - 200, n // 10 + 200)
settings = dict(n_init=1, max_iter=ITERATIONS, tol=0, n_jobs=-1)
CrossGuidedKMeans(5, **settings).fit(X[small], topics[small] % 2, sample_domain=domain[small])
began, cpu = time.perf_counter(), time.process_time()
model = CrossGuidedKMeans(N_CLUSTERS, **settings).fit(X, topics, sample_domain=domain)
took, cpu = time.perf_counter() - began, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": took, "cpu_s": cpu, "peak_mb": peak, "n_iter": model.n_iter_, "nonzeros": int(X.nnz)}))
"""


def time_whole_fit(n: int) -> dict:
    """A whole guided fit of ``n`` target documents (one start, 25 iterations) in a process of its own.

    The peer is what scikit-learn's KMeans would need for as many iterations, from the time of one.
    """
    done = subprocess.run([sys.executable, "-c", _WHOLE, str(n)], capture_output=True, text=True, check=True)
    whole = json.loads(done.stdout)
    one = time_iteration(n)
    return {
        "ours_s": whole["seconds"],
        "peer": f"scikit-learn KMeans, {ITERATIONS} iterations at the seconds of one",
        "peer_s": one["peer_wall_s"] * ITERATIONS,
        "n": n,
        "nonzeros": whole["nonzeros"],
        "n_iter": whole["n_iter"],
        "cpu_s": whole["cpu_s"],
        "peak_mb": whole["peak_mb"],
    }


def _case(name: str, work, n: int, summary: str) -> SpeedCase:
    def run(folder: Path) -> dict:
        return work(n)

    iteration = work is time_iteration
    return SpeedCase(
        name, "guided", run, summary=summary, limit=6 if iteration else None, quick=iteration and n <= 25_000
    )


CASES = (
    *(
        _case(f"kmeans-iteration-{n}", time_iteration, n, f"One k-means iteration, {n:,} × 50,000, 50 clusters")
        for n in (25_000, 50_000, 100_000)
    ),
    _case("guided-fit-100000", time_whole_fit, 100_000, "Guided fit, 100,000 × 50,000, 50 clusters, 25 iterations"),
)

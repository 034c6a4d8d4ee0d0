"""Speed of the string kernels: Gram matrix against scikit-learn, ridge without forming K̄·K̄ᵀ, peak memory.

Seconds are CPU seconds of one process: both sides of the Gram cases run on one thread, and other work on the machine
disturbs a ratio of CPU seconds less than one of wall-clock seconds.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from pathlib import Path

import numpy as np

from isthmus._utils import one_blas_thread
from isthmus_bench.engine.suite import SpeedCase
from isthmus_bench.engine.workers import end_with_parent
from isthmus_bench.tasks import AMAZON_FILE, read_records

SIZES = (2000, 4000, 8000)
RIDGE = 1e-4  # of the method strings
PEER = "scikit-learn CountVectorizer(char, 5-8) + product"


def review_texts(folder: Path, n: int) -> list[str]:
    """n reviews of all domains in a fixed random order, lower case, white space squeezed."""
    from isthmus.features.strings import StringKernel

    kernel = StringKernel()
    texts = [kernel.prepare(f"{r['title']} {r['text']}") for r in read_records(Path(folder) / AMAZON_FILE)]
    return [texts[i] for i in np.random.RandomState(0).permutation(len(texts))[:n]]


def _ours(texts: list[str]) -> np.ndarray:
    from isthmus.features.strings import StringKernel

    return StringKernel(lowercase=False, squeeze=False).gram(texts)


def _peer(texts: list[str]) -> np.ndarray:
    from sklearn.feature_extraction.text import CountVectorizer

    X = CountVectorizer(analyzer="char", ngram_range=(5, 8), binary=True, lowercase=False, dtype=np.int32)
    counts = X.fit_transform(texts)
    return (counts @ counts.T).toarray()


def _peak_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says begins with the memory of the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _measure(side: str, folder: str, n: int, pipe) -> None:
    """In a process of its own: seconds of a warm call, growth of the peak, seconds until the first call was ready."""
    end_with_parent()
    compute = _ours if side == "ours" else _peer
    texts = review_texts(Path(folder), n)
    start = time.process_time()
    compute(review_texts(Path(folder), 300))
    ready = time.process_time() - start
    before = _peak_mb()
    start = time.process_time()
    K = compute(texts)
    seconds = time.process_time() - start
    pipe.send((seconds, _peak_mb() - before, ready, K[:: max(1, n // 50)].copy(), int(K.sum(dtype=np.int64))))


def _apart(side: str, folder: Path, n: int):
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(side, str(folder), n, send))
    process.start()
    send.close()
    result = receive.recv()
    process.join()
    return result


def _gram(n: int):
    def run(folder: Path) -> dict:
        ours_s, ours_mb, ready, rows, total = _apart("ours", folder, n)
        peer_s, peer_mb, _, peer_rows, peer_total = _apart("peer", folder, n)
        difference = int(np.abs(rows.astype(np.int64) - peer_rows).max()) + abs(total - peer_total)
        return {
            "ours_s": ours_s,
            "peer": PEER,
            "peer_s": peer_s,
            "n": n,
            "clock": "CPU",
            "peak_mb": ours_mb,
            "peer_peak_mb": peer_mb,
            "memory_ratio": ours_mb / peer_mb if peer_mb else None,
            "warm_up_s": ready,
            "difference": difference,
            # One addition for every n-gram that two texts share; a matrix of 32-bit numbers is written.
            "operations": total // 2,
            "moved_bytes": 4 * n * n,
        }

    return run


@one_blas_thread()  # of both sides: threads that wait for each other would count as work
def _ridge(folder: Path, n: int = 4000) -> dict:
    """Half source, half target; ours takes steps with the factor of the source's kernel, the peer forms K̄·K̄ᵀ."""
    from scipy.linalg import cho_factor, cho_solve

    from isthmus.classify.strings.ridge import indicator, rbf, solve_ridge
    from isthmus.features.strings import StringKernel

    R = rbf(StringKernel().gram(review_texts(folder, n), normalize=True))
    R -= R.mean(axis=0)
    R /= np.sqrt(np.mean(np.sum(R * R, axis=1)))
    source, target = np.arange(n // 2), np.arange(n // 2, n)
    Y = indicator(source % 2, 2)
    start = time.process_time()
    ours = R[target] @ solve_ridge(R, source, Y, RIDGE)
    ours_s = time.process_time() - start
    start = time.process_time()
    K = R @ R.T
    A = K[np.ix_(source, source)] + RIDGE * np.eye(len(source))
    peer = K[np.ix_(target, source)] @ cho_solve(cho_factor(A, lower=True), Y)
    peer_s = time.process_time() - start
    difference = float(np.abs(ours - peer).max() / np.abs(peer).max())
    return {
        "ours_s": ours_s,
        "peer": "forming K̄·K̄ᵀ whole",
        "peer_s": peer_s,
        "n": n,
        "clock": "CPU",
        "difference": difference,
        # The factor of the source's kernel; twelve steps, each with four triangles and two products in single
        # precision, and seven products with half of the rows in double precision.
        "operations": (n // 2) ** 3 // 3,
        "moved_bytes": 12 * 16 * (n // 2) ** 2 + 7 * 8 * (n // 2) * n,
    }


_LIMITS = {2_000: 45, 8_000: 35}
CASES = (
    *(
        SpeedCase(
            f"gram-presence-{n}",
            "tkc-presence",
            _gram(n),
            (AMAZON_FILE,),
            "Gram matrix, presence, 5-8 characters",
            limit=_LIMITS.get(n),
            quick=n == min(SIZES),
        )
        for n in SIZES
    ),
    SpeedCase("ridge-transductive-4000", "tkc-presence", _ridge, (AMAZON_FILE,), "Ridge on the kernel", limit=8),
)

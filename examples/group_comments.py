"""Group the car dealer's comments, guided by the motorcycle dealer's categories where they fit."""

import isthmus
from isthmus.corpus import load_sample
from isthmus.evaluate import adjusted_rand, pair_scores


def main():
    motorcycles, cars, truth = load_sample()
    expected = [truth[id_] for id_ in cars.ids]
    for guidance in (0.0, 0.5):  # 0 is plain k-means from the same starts
        result = isthmus.cluster(motorcycles.texts, motorcycles.labels, cars.texts, n_clusters=4, guidance=guidance)
        scores = pair_scores(expected, result.labels)
        print(
            f"guidance {guidance}: pair F1 {scores.f1:.3f}, adjusted Rand {adjusted_rand(expected, result.labels):.3f}"
        )
    for row in result.clusters(top=5, documents=1):
        print(f"  {row['name']} ({row['size']} comments): {', '.join(row['words'])}")


if __name__ == "__main__":
    main()

"""Label the bundled sample and say how far to trust the labels."""

import isthmus
from isthmus.corpus import load_sample
from isthmus.evaluate import accuracy, wilson_interval


def main():
    motorcycles, cars, truth = load_sample()
    result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, method="nbc")

    print("Three labels, and the words behind them:")
    for i in range(3):
        print(f"  {result.labels[i]} ({result.confidence[i]:.2f}): {cars.texts[i]}")
        for_it = [row["term"] for row in result.reasons(i, top=3) if row["class"] == result.labels[i]]
        print(f"    because of: {', '.join(for_it)}")

    # True labels exist only because this is a sample; label() never saw them.
    expected = [truth[id_] for id_ in cars.ids]
    right = sum(a == b for a, b in zip(expected, result.labels, strict=True))
    interval = wilson_interval(right, len(expected))
    print(f"Accuracy {interval.estimate:.3f}, between {interval.low:.3f} and {interval.high:.3f}")

    sure = ~result.needs_review
    kept = [label for label, keep in zip(expected, sure, strict=True) if keep]
    if kept:
        print(f"{int((~sure).sum())} of {len(sure)} need review; the others: {accuracy(kept, result.labels[sure]):.3f}")


if __name__ == "__main__":
    main()

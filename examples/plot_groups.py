"""
Groups instead of labels
========================

What if the categories do not fit? Group the target's texts instead. Clusters follow the source's groups where they
match, and new ones may appear.
"""

import isthmus
from isthmus.evaluate import adjusted_rand, pair_scores
from isthmus.report.charts import draw
from isthmus_bench.shifted import make_shifted_texts

# Three groups the source knows, two it does not.
made = make_shifted_texts(240, 200, n_classes=3, n_novel=2, shared=0.5, noise=0.35, length=12, random_state=0)

rows = []
for guidance in (0.0, 0.25, 0.5, 0.75):  # 0 is plain k-means from the same starts
    groups = isthmus.cluster(made.source_texts, made.source_labels, made.target_texts, n_clusters=5, guidance=guidance)
    scores = pair_scores(made.target_labels, groups.labels)
    rows.append({"guidance": guidance, "pair F1": scores.f1})
    rand = adjusted_rand(made.target_labels, groups.labels)
    print(f"guidance {guidance}: pair F1 {scores.f1:.3f}, adjusted Rand {rand:.3f}")
chart = draw(rows, {"kind": "line", "x": "guidance", "y": "pair F1"})
chart

# %%
# Each cluster says which source group it is aligned with, if any, and which words hold it together.

groups = isthmus.cluster(made.source_texts, made.source_labels, made.target_texts, n_clusters=5)
for row in groups.clusters(top=4):
    print(f"{row['name']} ({row['size']} texts), aligned to {row['aligned_to']}: {', '.join(row['words'])}")

# %%
# Where did the true groups go? "class 3" and "class 4" occur in the target only.

table = [
    {"true group": true, "cluster": groups.names[label], "texts": 0}
    for true in sorted(set(made.target_labels))
    for label in range(5)
]
for row in table:
    row["texts"] = sum(
        true == row["true group"] and groups.names[label] == row["cluster"]
        for true, label in zip(made.target_labels, groups.labels, strict=True)
    )
chart = draw(table, {"kind": "heatmap", "x": "cluster", "y": "true group", "value": "texts", "value_format": "d"})
chart

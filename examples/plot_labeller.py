"""
A rule file as one more method
==============================

Can an old rule file help? Rules, a colleague's classifier, a language model: anything that labels texts can take part.
Here it is four rules of one line each. They join the methods that ``isthmus.label`` tries, and are judged by the same
evidence, so you need not decide beforehand how far to trust them.
"""

# %%
# The rules
# ---------
#
# A labeller is a function of a list of texts. It answers with a class, with probabilities, or with None where it has no
# answer.

import re

import isthmus
from isthmus.corpus import load_sample
from isthmus.report.charts import draw

RULES = {
    "price": r"price|money|rate|fee|offer|deal|cheap|expensive|bill|paid|cost|finance",
    "staff": r"staff|guys|lads|woman|salesman|mechanic|owner|rude|polite|friendly|attitude",
    "service": r"service|repair|workshop|appointment|waited|waiting|booked|ready|collected",
    "product": r"engine|exhaust|paint|brakes|seat|tyres|fuel|handling|gearbox|boots|bought",
}


def by_rules(texts):
    """The class whose words stand in the text most often; no answer where none does."""
    answers = []
    for text in texts:
        hits = {name: len(re.findall(words, text.lower())) for name, words in RULES.items()}
        best = max(hits, key=hits.get)
        answers.append(best if hits[best] else None)
    return answers


motorcycles, cars, truth = load_sample()
answered = sum(answer is not None for answer in by_rules(cars.texts))
print(f"The rules have an answer for {answered} of {len(cars.texts)} texts.")

# %%
# One candidate among others
# --------------------------
#
# A part of the source is put to the rules too. What they say there tells what their answers are worth, and the evidence
# decides whether they vote. Here it leaves them out: they have no answer for half of the texts.

result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, method=by_rules, embed=False)
for row in result.decision:
    print(f"{row['method']:<14} {'votes' if row['chosen'] else 'left out'}: {row['why']}")

# %%
# The same by the command, for a program in any language: it reads ``{"text": …}`` line by line, and writes a label in
# quotes, ``{"probabilities": {…}}`` or ``null`` for each.
#
# .. code-block:: text
#
#    isthmus label motorcycles.csv cars.csv --labeller "python rules.py" -o labelled.csv

# %%
# How many labels are right: by the rules alone, where no answer counts as wrong, and by the vote.

true = [truth[id_] for id_ in cars.ids]
rows = [
    {"labels": name, "right": sum(a == b for a, b in zip(found, true, strict=True)) / len(true)}
    for name, found in (("the rules alone", by_rules(cars.texts)), ("the vote", result.labels))
]
chart = draw(
    rows, {"kind": "bar", "x": "labels", "y": "right", "y_format": ".0%", "y_domain": [0, 1], "order": "table"}
)
chart

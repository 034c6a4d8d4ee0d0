"""Small made collections that several rooms read."""

import numpy as np

COMMENTS = [
    ("the staff was friendly", "staff"),
    ("the price was high", "price"),
    ("rude staff there", "staff"),
    ("a fair price to pay", "price"),
    ("helpful staff and friendly", "staff"),
    ("high price again", "price"),
]
COMMENTS_CSV = "id,comment,category\n" + "".join(f"{i},{text},{label}\n" for i, (text, label) in enumerate(COMMENTS))

# Words of four topics, no two of which share one, and words of any topic.
WORDS = {
    "bikes": ["saddle", "pedal", "wheel", "brake", "chain", "gear", "fork", "helmet", "tyre", "frame"],
    "staff": ["manager", "clerk", "friendly", "rude", "service", "desk", "polite", "helpful", "smile", "phone"],
    "price": ["cheap", "dear", "cost", "euro", "bill", "refund", "discount", "pay", "invoice", "fee"],
    "food": ["soup", "bread", "cheese", "salad", "coffee", "cake", "taste", "lunch", "dinner", "menu"],
}
COMMON = ["the", "a", "was", "very", "we", "they", "it", "is", "at", "with", "for", "on", "again", "today", "shop"]


# A source and a target that every recipe labels in a moment.
SOURCE = [
    "the staff was friendly and helpful", "the price was far too high", "rude staff at the front desk",
    "a fair price to pay for it", "helpful staff and friendly people", "high price again this year",
    "staff never called me back", "price went up without notice",
] * 2  # fmt: skip
LABELS = ["staff", "price"] * 8
TARGET = ["friendly staff sold the sedan", "the price of the sedan is high", "sedan staff was rude", "a fair price"]

# Opinions of two classes, and of a third one that a source may lack.
STAFF = ["friendly", "rude", "helpful", "polite", "impatient", "kind"]
PRICE = ["expensive", "cheap", "costly", "bargain", "overpriced", "fair"]
PARKING = ["garage", "parking", "spaces", "lot", "barrier", "ticket"]


def visit_texts(words, n, seed, visits=9):
    """Three of the words, with a number that says nothing."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, 3)) + f" visit {rng.integers(visits)}" for _ in range(n)]

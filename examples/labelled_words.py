"""Few labelled documents, a handful of labelled words: dual supervision."""

import numpy as np

from isthmus import ManifoldDualClassifier
from isthmus.corpus import load_sample
from isthmus.evaluate import accuracy
from isthmus.features import TextVectorizer

# Written down by common sense; two words that occur in no comment were replaced. No true label was looked at.
WORDS = {
    "polite": "staff",
    "rude": "staff",
    "receptionist": "staff",
    "engine": "product",
    "seats": "product",
    "brakes": "product",
    "workshop": "service",
    "repair": "service",
    "appointment": "service",
    "expensive": "price",
    "discount": "price",
    "cheap": "price",
}


def main():
    motorcycles, cars, truth = load_sample()
    few = np.random.RandomState(0).permutation(len(motorcycles))[:40]
    texts = [*[motorcycles.texts[i] for i in few], *cars.texts]
    labels = [*[motorcycles.labels[i] for i in few], *[None] * len(cars)]
    expected = [truth[id_] for id_ in cars.ids]

    vectorizer = TextVectorizer(stem=False, weighting="tfidf")  # whole words, as they are written in the list
    X = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out()
    for given, words in (("40 documents", None), (f"40 documents and {len(WORDS)} words", WORDS)):
        model = ManifoldDualClassifier(word_labels=words, feature_names=names, random_state=0).fit(X, labels)
        print(f"{given}: accuracy {accuracy(expected, model.transduction_[len(few) :]):.3f}")


if __name__ == "__main__":
    main()

"""Learn from answers of annotators: select questions, correct the labels, rename classes, and estimate the accuracy."""

from isthmus.feedback.accounting import Expectation, Outlook, expect_accuracy, outlook
from isthmus.feedback.answers import Answers
from isthmus.feedback.asking import Question, ask_documents, ask_words
from isthmus.feedback.correction import Correction, learn_correction
from isthmus.feedback.labelling import Labelling, Learned
from isthmus.feedback.self_training import WordModel, train_on_everything
from isthmus.feedback.views import DocumentViews

__all__ = [
    "Answers",
    "Correction",
    "DocumentViews",
    "Expectation",
    "Labelling",
    "Learned",
    "Outlook",
    "Question",
    "WordModel",
    "ask_documents",
    "ask_words",
    "expect_accuracy",
    "learn_correction",
    "outlook",
    "train_on_everything",
]

"""Label texts with a local model for natural language inference; each line of input and output is one text as JSON.

Usage: python zero_shot.py FOLDER "CLASS: SENTENCE" "CLASS: SENTENCE" …

FOLDER contains model.onnx, tokenizer.json and config.json of a cross-encoder. Each SENTENCE states what is true of a
text of its class.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

folder = Path(sys.argv[1])
sentences = dict(argument.split(": ", 1) for argument in sys.argv[2:])
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(512, strategy="only_first")  # a long text is cut, its sentence is not
session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
needs = [entry.name for entry in session.get_inputs()]
outcomes = json.loads((folder / "config.json").read_text())["id2label"]
entailment = next(int(number) for number, name in outcomes.items() if name.lower().startswith("entail"))

for line in sys.stdin:
    text = json.loads(line)["text"]
    scores = []
    for sentence in sentences.values():
        pair = tokenizer.encode(text, sentence)
        given = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        logits = session.run(None, {name: np.array([given[name]]) for name in needs})[0][0]
        # Log-odds of entailment against the other outcomes.
        scores.append(logits[entailment] - np.logaddexp.reduce(np.delete(logits, entailment)))
    shares = np.exp(np.array(scores) - max(scores))
    shares /= shares.sum()
    print(json.dumps({"probabilities": dict(zip(sentences, shares.tolist(), strict=True))}))

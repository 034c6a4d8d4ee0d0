"""Which languages a collection is written in: by script, then by function words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from isthmus.features.tokens import tokenize_words

NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip
SCRIPTS = {
    "latin": r"A-Za-z\u00c0-\u024f",
    "cyrillic": r"\u0400-\u04ff",
    "greek": r"\u0370-\u03ff",
    "arabic": r"\u0600-\u06ff",
    "hebrew": r"\u0590-\u05ff",
    "devanagari": r"\u0900-\u097f",
    "thai": r"\u0e00-\u0e7f",
    "hangul": r"\uac00-\ud7af\u1100-\u11ff",
    "kana": r"\u3040-\u30ff",
    "han": r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f",
}
_ONE_LANGUAGE = {"greek": "el", "hebrew": "he", "devanagari": "hi", "thai": "th", "hangul": "ko"}
_LETTERS = {name: re.compile(f"[{letters}]") for name, letters in SCRIPTS.items()}
# The commonest short words of running text; a word in several lists speaks for each of them.
_FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to in is that it was for on are with as at be this have from or had by not but what all were "
              "when we there can an your which their if will would has they you he she his her my so",
        "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus "
              "er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder ich",
        "fr": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont la avec son "
              "aux mais ou cette nous vous je elle leur être ont fait très était",
        "es": "de la que el en los del se las por un para con no una su al lo como más pero sus le ya este sí porque "
              "esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos es son",
        "it": "di che il la per un in del una non sono si da come con le dei nel alla più anche al ma gli lo della ha "
              "questo mi ci se era molto io sua questa delle i è e o",
        "pt": "de que do da em um para com não uma os no se na por mais as dos como mas foi ao ele das tem seu sua ou "
              "ser quando muito há nos já está eu também só pelo pela até isso é são",
        "nl": "de van het een en in is dat op te zijn met voor niet aan er om ook als dan maar bij uit nog naar heeft "
              "ze hij wordt door worden over deze dit wel geen ik je was",
        "sv": "och att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan när "
              "där eller nu också efter ska mycket hade",
        "da": "og i at det en den til er som på de med han af for ikke der var mig sig men et har om vi min havde ham "
              "hun nu over da fra du ud sin dem os op man hans hvor eller hvad skal",
        "fi": "ja on ei että se hän oli ovat kun mutta myös niin kuin tai jos sen joka mitä ole siitä olen olla vain "
              "nyt sitten minä tämä mukaan jo",
        "pl": "w i na z do się nie że jest to o jak po co ale od za przez tak są jego dla czy tylko być już może przy "
              "który która ma tym oraz był",
        "cs": "a v se na je že s z do i o to k ve pro za by ale jsou po jako už od si jeho tak nebo jen být má které "
              "který také není jsem až při",
        "ro": "de și în a la cu pe nu că o din care un este ce mai să pentru au sunt fost lui dar sau prin cum după "
              "foarte când fi ale acest am",
        "tr": "ve bir bu da de için ile çok ne daha gibi o var en ama kadar olarak sonra ben olan mi ki her değil ya "
              "şey göre bana",
        "hu": "a az és hogy nem is egy ez meg de csak már el volt mint még azt van vagy ha ki minden mert lehet nagyon "
              "ezt sem után",
        "id": "yang dan di ini itu untuk dengan dari tidak pada adalah ke akan dalam ada saya juga bisa oleh atau "
              "sudah karena kami mereka lebih seperti",
    }.items()
}  # fmt: skip
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in _words:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)
_SAMPLE_DOCUMENTS = 1_000
_SAMPLE_CHARACTERS = 500
_FEWEST_WORDS = 5
_FEWEST_SHARE = 0.08  # function words are a third and more of running text; lists of keywords have next to none
_LEAD = 1.25  # over the second language: neighbours such as Danish and Swedish share many short words


def guess_text_language(text: str) -> str | None:
    """Language of one text as a two-letter code, a script's name where words do not tell, None for no letters.

    Examples
    --------
    >>> from isthmus.shift.languages import guess_text_language
    >>> guess_text_language("Der Motor ist laut und die Sitze sind hart")
    'de'
    >>> guess_text_language("发动机很响"), guess_text_language("kettle lamp toaster"), guess_text_language("42")
    ('zh', 'latin', None)
    """
    text = text[:_SAMPLE_CHARACTERS].lower()
    letters = {name: len(pattern.findall(text)) for name, pattern in _LETTERS.items()} if not text.isascii() else {
        "latin": len(_LETTERS["latin"].findall(text))
    }  # fmt: skip
    total = sum(letters.values())
    if not total:
        return None
    # An ideograph says as much as a word of some letters, so a few Latin names do not hide Chinese.
    dense = letters.get("han", 0) + letters.get("kana", 0)
    if dense > 0.2 * total:
        return "ja" if letters["kana"] > 0.1 * dense else "zh"
    script = max(letters, key=lambda name: letters[name])
    if script in _ONE_LANGUAGE:
        return _ONE_LANGUAGE[script]
    if script == "cyrillic":
        return "uk" if re.search("[іїєґ]", text) else "ru"
    if script == "arabic":
        return "fa" if re.search("[پچژگ]", text) else "ar"
    return _latin_language(text) or "latin"


def _latin_language(text: str) -> str | None:
    # One-letter words count here ("a", "o", "w"), tokenize_words leaves them out.
    words = re.findall(r"[^\W\d_]+", text)
    if len(words) < _FEWEST_WORDS:
        return None
    scores = dict.fromkeys(_FUNCTION_WORDS, 0)
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            scores[language] += 1
    (best, most), (_, second) = sorted(scores.items(), key=lambda item: -item[1])[:2]
    return best if most >= _FEWEST_SHARE * len(words) and most >= _LEAD * second else None


def guess_languages(texts: Sequence[str]) -> dict[str, float]:
    """Share of the documents in each language, commonest first; texts that do not tell are left out of the count.

    A collection none of whose texts tells (keywords, bags of words) gives the shares of scripts instead.

    Examples
    --------
    >>> from isthmus.shift.languages import guess_languages
    >>> guess_languages(["the engine is loud and it was hot", "der Motor ist laut und er war heiß", "42"])
    {'en': 0.5, 'de': 0.5}
    """
    step = max(1, len(texts) // _SAMPLE_DOCUMENTS)
    guesses = map(guess_text_language, texts[::step][:_SAMPLE_DOCUMENTS])
    found = Counter(name for name in guesses if name is not None)
    known = Counter({name: count for name, count in found.items() if name in NAMES})
    # A handful of telling texts among many that do not tell says little about the collection.
    counted = known if known.total() >= 0.1 * found.total() else found
    total = counted.total()
    return {name: count / total for name, count in counted.most_common()} if total else {}


def language_name(code: str) -> str:
    """English name of a language, or of a script."""
    return NAMES.get(code, f"unknown ({code} script)")


def is_english(shares: dict[str, float], texts: Sequence[str]) -> bool:
    """Whether English is the main language; keywords in plain ASCII count as English, as in the vectoriser.

    ``shares`` as :func:`guess_languages` gave them for ``texts``.
    """
    main = next(iter(shares), "latin")
    if main != "latin":
        return main == "en"
    words = [word for text in texts[:_SAMPLE_DOCUMENTS] for word in tokenize_words(text[:_SAMPLE_CHARACTERS])]
    return sum(word.isascii() for word in words) > 0.98 * len(words) if words else True

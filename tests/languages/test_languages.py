"""Which language a text is in, and what is done for it."""

import pytest

from isthmus.exceptions import UsageError
from isthmus.features import TextVectorizer, guess_language, guess_languages, identify_language, languages
from isthmus.features.languages import (
    NAMES,
    NEGATIONS,
    STEMMERS,
    has_stop_words,
    languages_in_use,
    pick_language,
    plainly_english,
    resolve_language,
    script_of,
    spread_sample,
    stemmer,
    stop_words,
)
from isthmus.features.spelling import lower_text, normalize_text
from isthmus.features.tokens import WordAnalyzer, cut_pieces, segmenter
from isthmus_bench.suites.language_lines import LINES

SENTENCES = {
    "en": "The engine was loud and the seats are hard, but we like it",
    "de": "Der Motor ist laut und die Sitze sind hart, aber das Auto ist nicht teuer",
    "fr": "Le moteur est bruyant et les sièges sont durs, mais la voiture est belle",
    "es": "El motor es ruidoso y los asientos son duros, pero el coche no es caro",
    "it": "Il motore è rumoroso e i sedili sono duri, ma la macchina non è cara",
    "pt": "O motor é barulhento e os bancos são duros, mas o carro não é caro",
    "nl": "De motor is luid en de stoelen zijn hard, maar het is niet duur",
    "sv": "Motorn är högljudd och sätena är hårda, men det är inte dyrt att köra",
    "pl": "Silnik jest głośny i nie jest tani, ale to się zmieni po roku",
    "fi": "Moottori on äänekäs ja se ei ole halpa, mutta hän sanoi että tämä on hyvä",
    "tr": "Motor çok gürültülü ve bu araba ucuz değil ama bir yıl sonra daha iyi",
    "ru": "Двигатель громкий, но машина хорошая", "uk": "Двигун гучний, але машина її добра і тиха",
    "zh": "发动机很响，座椅很硬", "ja": "エンジンはうるさいです", "ko": "엔진이 시끄럽다",
    "el": "Ο κινητήρας είναι θορυβώδης",
    "he": "המנוע רועש", "ar": "المحرك صاخب", "fa": "موتور پر سر و صدا است گران", "th": "เครื่องยนต์เสียงดัง",
    "hi": "इंजन शोर करता है",
}  # fmt: skip


@pytest.mark.parametrize("language", SENTENCES)
def test_language_of_a_sentence(language):
    assert identify_language(SENTENCES[language]) == language


def test_short_lines_of_twenty_two_languages():
    lines = [(text, language) for language, lines in LINES.items() for text in lines.texts]
    right = sum(identify_language(text) == language for text, language in lines)
    assert len(lines) == 264
    assert right >= 0.97 * len(lines)


@pytest.mark.parametrize("language", LINES)
def test_language_of_a_dozen_lines(language):
    assert guess_language(LINES[language].texts) == language


def test_languages_of_a_collection():
    shares = guess_languages([SENTENCES["en"]] * 3 + [SENTENCES["de"]] + ["123", ""])
    assert shares == {"en": 0.75, "de": 0.25}
    assert guess_languages(["kettle lamp toaster"] * 5) == {"latin": 1.0}
    assert guess_languages(["", "1 2 3"]) == {}


def test_a_tenth_of_the_documents_is_a_language_of_its_own():
    english, german = LINES["en"].texts, LINES["de"].texts
    assert languages_in_use([*english, *german]) == ("de", "en")
    assert languages_in_use([*english * 10, *german[:3]]) == ("en",)
    plain, other = "the engine is loud and the seat was hard", "der Motor ist laut und der Sitz war hart"
    texts = [f"{plain if n < 90 else other} {n}" for n in range(100)]
    assert languages_in_use(texts) == ("en", "de"), "exactly a tenth is enough"


def test_few_languages_to_pick_from_leave_no_other_answer():
    assert pick_language("Ein Palais, innen.", ("en", "de")) == "de"
    assert pick_language("面包也很干", ("en", "zh")) == "zh"
    assert pick_language("面包也很干", ("en", "de")) == "en"


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("KTM 发动机很响", "han"),
        ("これは新しい車です", "kana"),
        ("ქართული ენა", "georgian"),
        ("ພາສາລາວ", "lao"),
        ("ភាសាខ្មែរ", "khmer"),
        ("မြန်မာဘာသာ", "burmese"),
        ("😀 12:30", None),
    ],
)
def test_script(text, script):
    assert script_of(text) == script


def test_languages_by_name_and_code():
    assert [resolve_language(name) for name in ("de", "German", "pt-BR", "nb", "other")] == [
        "de",
        "de",
        "pt",
        "no",
        "other",
    ]
    with pytest.raises(UsageError, match="language='klingon'; use 'auto'"):
        resolve_language("klingon")
    with pytest.raises(UsageError):
        TextVectorizer(language=3).fit(["a text"])


# -- stems and stop words ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", STEMMERS)
def test_every_stemmer_is_there(language):
    assert language in NAMES
    assert stemmer(language) is not None


def test_languages_with_a_stemmer_have_stop_words_but_for_four():
    without = {language for language in STEMMERS if not has_stop_words(language)}
    assert without == {"ne", "ta", "yi"}


@pytest.mark.parametrize("language", sorted(NEGATIONS))
def test_negations_survive_where_verdicts_are_at_stake(language):
    kept = stop_words(language, negations=False)
    assert not NEGATIONS[language] & kept
    assert kept <= stop_words(language)


def test_a_language_whose_negations_are_unknown_keeps_its_stop_words():
    assert stop_words("zu")
    assert stop_words("zu", negations=False) == frozenset()


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("de", ("Zug", "Züge")),
        ("fr", ("train", "trains")),
        ("ru", ("автобус", "автобусе")),
        ("fi", ("bussi", "bussissa")),
        ("ar", ("القطار", "قطار")),
        ("el", ("σούπα", "σούπες")),
        ("tr", ("tren", "trenler")),
        ("hi", ("रोटी", "रोटियाँ")),
    ],
)
def test_forms_of_a_word_are_one_term(language, forms):
    analyze = WordAnalyzer((language,), stem=True, stop_words=None)
    terms = [analyze(form) for form in forms]
    assert terms[0] == terms[1]
    assert len(terms[0]) == 1


def test_sentiment_keeps_negations_and_spares_english():
    german = ["Das Essen war nicht gut und die Bedienung war auch nicht freundlich"] * 3
    topic = TextVectorizer(min_df=1).fit(german)
    verdict = TextVectorizer(min_df=1, sentiment=True, ngram_range=(1, 2)).fit(german)
    assert "nicht" not in topic.get_feature_names_out()
    assert {"nicht", "ess nicht"} <= set(verdict.get_feature_names_out())
    assert "und" not in verdict.get_feature_names_out()
    english = ["The food was not good and the waiters were not friendly"] * 3
    names = TextVectorizer(min_df=1, sentiment=True).fit(english).get_feature_names_out()
    assert {"the", "waiters", "not"} <= set(names)


def test_words_of_most_documents_are_stop_words_where_no_list_is_kept():
    lines = LINES["ta"].texts
    many = [f"{line} இந்த" for line in lines] * 5
    names = set(TextVectorizer(min_df=1, stem=False).fit(many).get_feature_names_out())
    assert "இந்த" not in names
    assert "சூப்" in names
    assert "இந்த" in set(TextVectorizer(min_df=1, stem=False, stop_words=None).fit(many).get_feature_names_out())


def test_a_mixed_collection_is_read_document_by_document():
    texts = [*LINES["en"].texts, *LINES["de"].texts, *LINES["zh"].texts]
    vectorizer = TextVectorizer(min_df=1).fit(texts)
    names = set(vectorizer.get_feature_names_out())
    assert set(vectorizer.languages_) == {"en", "de", "zh"}
    assert not {"the", "die", "und", "and"} & names
    assert {"train", "zug", "火车"} <= names


def test_the_language_can_be_given():
    texts = ["Gift im Rathaus", "also die Rathäuser"]
    assert TextVectorizer(min_df=1, language="German").fit(texts).language_ == "de"
    assert "rathaus" in TextVectorizer(min_df=1, language="de").fit(texts).get_feature_names_out()
    plain = TextVectorizer(min_df=1, language="other").fit(texts)
    assert {"im", "die", "rathäuser"} <= set(plain.get_feature_names_out())


# -- Unicode and scripts -----------------------------------------------------------------------------------------------


def test_one_spelling_for_one_word():
    assert normalize_text("ＡＢＣ　ｶﾅ") == "ABC カナ"
    assert normalize_text("e\u0301") == "é"
    assert normalize_text("น้ำ") == "น้ำ"
    assert normalize_text("كـتـاب") == "كتاب"
    assert normalize_text("Zusammen\u00adarbeit") == "Zusammenarbeit"
    assert lower_text("ISPARTA İZMİR", "tr") == "ısparta izmir"
    composed, apart = (TextVectorizer(min_df=1).fit([text, text]) for text in ("café crème", "cafe\u0301 cre\u0300me"))
    assert composed.get_feature_names_out().tolist() == apart.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("发动机", ["发动", "动机"]),
        ("大", ["大"]),
        ("iphone新品", ["iphone", "新品"]),
        ("기차", ["기", "차", "기차"]),
        ("รถไฟ", ["รถไ", "ถไฟ"]),
        ("straße", ["straße"]),
    ],
)
def test_pieces(word, pieces):
    assert cut_pieces(word) == pieces


def test_thai_is_read_three_characters_at_a_time():
    vectorizer = TextVectorizer(min_df=1).fit(LINES["th"].texts)
    assert vectorizer.analyzer_ == "trigrams"
    assert {"รถไ", "ถไฟ", "ตั๋"} <= set(vectorizer.get_feature_names_out())


@pytest.mark.parametrize(("language", "package", "word"), [("zh", "rjieba", "火车"), ("th", "pythainlp", "รถไฟ")])
def test_words_by_a_segmenter(language, package, word):
    pytest.importorskip(package)
    vectorizer = TextVectorizer(analyzer="words", min_df=1).fit(LINES[language].texts)
    assert word in vectorizer.get_feature_names_out()
    assert segmenter("de") is None


def test_plain_english_is_known_without_the_identifier():
    english = ["The engine is loud and it was not what I had hoped for"] * 95
    assert plainly_english(english + ["kettle lamp toaster"] * 5)
    assert not plainly_english(english + ["Der Motor ist laut und die Sitze sind hart"] * 12)
    assert not plainly_english([])
    assert not any(plainly_english([sentence] * 20) for code, sentence in SENTENCES.items() if code != "en")


def test_plain_english_leaves_no_other_language_a_tenth():
    plain, other = "the engine is loud and the seat was hard", "der Motor ist laut und der Sitz war hart"
    assert [plainly_english([plain] * n + [other] * (100 - n)) for n in (90, 91)] == [False, True]


def test_languages_do_not_depend_on_the_order_of_the_texts():
    english = [f"the engine number {i} is loud and it was hot" for i in range(300)]
    german = [f"der Motor Nummer {i} ist laut und er war heiß" for i in range(300)]
    in_turn = [text for pair in zip(english, german, strict=True) for text in pair]  # every second is English
    shares = guess_languages(in_turn)
    assert shares == guess_languages([*german, *english])
    assert shares["de"] == pytest.approx(0.5, abs=0.08)
    assert set(languages_in_use(in_turn)) == set(languages_in_use([*german, *english])) == {"de", "en"}


def test_a_sample_is_spread_over_all_texts():
    texts = [f"{i}" for i in range(599)]
    assert sorted(spread_sample(texts, 300)) == sorted(texts)  # every second would be too few
    assert len(spread_sample(texts * 3, 300)) == 360
    assert spread_sample([], 300) == []
    assert spread_sample(texts, 300, in_order=True) == texts
    assert spread_sample(texts * 2, 300, in_order=True) == (texts * 2)[::3]


def test_three_texts_make_a_language_common(monkeypatch):
    """Four texts asked for: an unsure text among three English ones then counted as Dutch."""
    said = {"one": ("en", 1.0), "two": ("en", 1.0), "three": ("en", 1.0), "odd": ("nl", 0.6)}
    monkeypatch.setattr(languages, "_identify", said.__getitem__)
    languages._shares.cache_clear()
    assert languages.guess_languages(["one", "two", "three", "odd"]) == {"en": 1.0}
    languages._shares.cache_clear()
    assert languages.guess_languages(["one", "two", "odd"]) == {"en": 2 / 3, "nl": 1 / 3}
    languages._shares.cache_clear()


def test_half_english_is_not_plainly_english():
    """The share of English texts divided by their number instead of multiplied."""
    english, german = "the engine is loud and the seat was hard", "der Motor ist laut und der Sitz war hart"
    assert languages.plainly_english([english] * 10)
    assert not languages.plainly_english([english] * 5 + [german] * 5)


def test_keywords_without_any_small_word_are_not_read_by_the_rules_of_a_language():
    """The identifier is sure that they are German; its stems would merge what only looks alike."""
    keywords = ["Motor Bremse Getriebe", "Auspuff Kupplung Lenkrad", "Scheinwerfer Stossstange Kofferraum"]
    assert languages_in_use(keywords) == ("en",), "plain letters"
    assert languages_in_use([*keywords, "der die und mit", "das ist nicht"]) == ("de",)

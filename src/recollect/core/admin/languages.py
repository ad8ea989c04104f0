"""Whether the embedding model was made for the languages of the memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from recollect.core.admin.stats import Stats

_MULTILINGUAL: Final = "multilingual"
# Languages are guessed, and a short text is easily misjudged: one or two memories prove nothing.
_MIN_MEMORIES: Final = 3
_NAMES: Final = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech",
    "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "ga": "Irish", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "km": "Khmer", "ko": "Korean",
    "lo": "Lao", "lt": "Lithuanian", "my": "Burmese", "ne": "Nepali", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "sr": "Serbian", "sv": "Swedish", "ta": "Tamil", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def describe_uncovered_languages(stats: Stats) -> str | None:
    """Describe what recall by meaning misses, for people; None if the model covers the
    languages.
    """
    if stats.embedding is None or not (covered := stats.embedding.languages):
        return None
    found = {
        language: memories
        for language, memories in stats.by_language.items()
        if language not in covered
    }
    if sum(found.values()) < _MIN_MEMORIES:
        return None
    names = ", ".join(f"{_NAMES.get(name, name)} ({number})" for name, number in found.items())
    return (
        f"the embedding model was not made for the language of some memories: {names}. They are"
        " found by the words in them, but seldom by a question in other words"
    )


def other_model(stats: Stats) -> str:
    """Return how to use a model for these languages."""
    if stats.embedding is not None and stats.embedding.embedder == _MULTILINGUAL:
        return "docs/languages.md shows how to use a model for these languages."
    return (
        f"Run `recollect models get {_MULTILINGUAL}`, then `recollect reembed --model"
        f" {_MULTILINGUAL}`: that model covers 15 languages. docs/languages.md shows how to use"
        " others."
    )

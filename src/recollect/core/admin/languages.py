"""Whether the embedding model was made for the languages of the memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from recollect.core.admin.stats import Stats

OTHER_MODEL: Final = (
    "See `recollect models`, and run `recollect reembed --model multilingual`, which covers 15"
    " languages; docs/languages.md shows how to use others."
)
# A language is a guess, and a short text is easily mistaken: a few memories say nothing.
_FEWEST: Final = 3
_LEAST_SHARE: Final = 0.05
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


def uncovered_languages(stats: Stats) -> str | None:
    """What recall by meaning misses, for people; None where the model covers the languages."""
    if stats.embedding is None or not (covered := stats.embedding.languages):
        return None
    least = max(_FEWEST, _LEAST_SHARE * stats.memories)
    found = [
        f"{_NAMES.get(language, language)} ({memories})"
        for language, memories in stats.by_language.items()
        if language not in covered and memories >= least
    ]
    if not found:
        return None
    return (
        f"memories are in {', '.join(found)}, which the embedding model does not cover: they are"
        " found by words, hardly by meaning"
    )

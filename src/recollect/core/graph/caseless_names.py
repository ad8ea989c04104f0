"""Names in scripts without capitals: what is in quotes, after a surname or next to a title, before
the word for a kind of place or company, or before a particle that only nouns have.

The rules would rather miss a name than mistake a piece of a sentence for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from recollect.core.text.stop_words import stop_words

Found = tuple[int, int, Literal["name", "phrase"]]

_CASELESS: Final = re.compile(r"[\u0590-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")

# Chinese and Japanese.
_HAN: Final = r"[\u3005\u3400-\u9fff]"
_TITLE_QUOTES: Final = re.compile(r"[「『《]([^「」『』《》\n。、，！？]{2,20})[」』》]")
_KATAKANA: Final = re.compile(r"[\u30a1-\u30fa][\u30a1-\u30fa\u30fb-\u30fe]{2,39}")
_HIRAGANA: Final = re.compile(r"[\u3041-\u3096]")
_KANJI: Final = re.compile(rf"(?<!{_HAN}){_HAN}{{2,6}}(?!{_HAN})")
# Particles, pronouns and common verbs: they are part of no name, and so end one.
_GRAMMAR: Final = (
    "的了是在和与與跟对對把被给給向由让讓也都就将將会會要从從去来來有说說为為于於到这這那个個家我你他她它们們"
    "不没沒很最之其所及或等并而且因以一每"
)
_NAMED: Final = rf"(?:(?![{_GRAMMAR}]){_HAN})"
# Surnames that are seldom anything else; next to a title, some more.
_SURNAME: Final = (
    "王李张張刘劉陈陳杨楊赵趙吴吳徐朱郭郑鄭梁邓鄧冯馮曹彭肖董袁潘蒋蔡魏吕呂沈姚卢盧崔汪廖傅邹孟邱薛"
)
_SURNAME_WITH_TITLE: Final = (
    _SURNAME + "黄黃周林高马馬孙孫胡何罗羅宋谢謝唐韩韓许許曾程苏蘇叶葉丁任姜范方石金陆陸夏钟江田杜"
)
_TITLE: Final = "先生|女士|小姐|老师|老師|经理|經理|教授|博士|总监|总裁|主任|医生|醫生|律师|律師"
_NO_PERSON: Final = "王国|王子|王朝|王室|王牌|李子|张开|张力|张贴|杨树|陈述|陈列|陈旧|刘海|朱红"
_BEFORE_PERSON: Final = rf"(?:(?<!{_HAN})|(?<=[和与與跟对對给給向由让讓被把是找问叫请]))"
_PERSON: Final = re.compile(
    rf"{_BEFORE_PERSON}(?!{_NO_PERSON})[{_SURNAME}](?:{_NAMED}{{0,2}}?(?:{_TITLE})"
    rf"|{_NAMED}{{1,2}}?(?=[{_GRAMMAR}住喜爱想问告叫用写负]|工作|(?!{_HAN})))"
    rf"|{_BEFORE_PERSON}[{_SURNAME_WITH_TITLE}]{_NAMED}{{0,2}}?(?:{_TITLE})"
)
_PLACE: Final = re.compile(
    rf"{_NAMED}{{2,6}}?(?:公司|银行|銀行|大学(?!生)|大學(?!生)|集团|集團|医院|醫院)"
    rf"|{_NAMED}{{2,3}}?(?<![城都超股上门夜菜房楼])市(?![场場民值面价政])"
    rf"|{_NAMED}{{2,3}}?(?<![节反])省(?![钱力事])"
    rf"|{_NAMED}{{2,3}}?(?<![道公铁网思线电走半出套回])路(?![由线径上边过])"
    "|北京|上海|广州|深圳|杭州|南京|成都|武汉|西安|重庆|天津|苏州|青岛|厦门|长沙|香港|台湾|台北|中国|美国|英国"
    "|法国|德国|日本|韩国|印度|俄罗斯|加拿大|新加坡|东京|纽约|伦敦|巴黎|柏林"
)

# Korean: a noun and its particle, which differs after a vowel and after a consonant.
_HANGUL: Final = re.compile(r"(?<![가-힣])[가-힣]{3,12}(?![가-힣])")
_PARTICLES: Final = (
    "에서는", "에서도", "에게는", "으로는", "에서", "에게", "께서", "한테", "까지", "부터", "으로",
    "에는", "를", "에",
)  # fmt: skip
_AFTER_VOWEL: Final = "는가와"
_AFTER_CONSONANT: Final = "은을과"
# Verbs end in these before 는, and in these consonants before 은 and 을.
_VERB_SYLLABLES: Final = "하되드르치키"
_VERB_CONSONANTS: Final = frozenset({6, 18, 20, 25, 26, 27})
_NO_NOUNS_TEXT: Final = """
때문 이후 이전 그것 이것 저것 우리 저희 여기 거기 저기 누구 무엇 어디 언제 오늘 내일 어제 지금 아침
저녁 매일 다음 최근 경우 동안 정도 이번
"""
_NO_NOUNS: Final = frozenset(_NO_NOUNS_TEXT.split())
_KOREAN_TITLED: Final = re.compile(
    r"(?<![가-힣])([가-힣]{2,4}) ?(?:씨|님|교수님|선생님)(?=[은는이가을를께의]|[^가-힣]|$)"
)

# A word after a title, in scripts with spaces.
_ARABIC: Final = "[\u0620-\u065f\u0670-\u06d3]+"
_DEVANAGARI: Final = "[\u0900-\u0963\u0970-\u097f]+"
_TITLED: Final = re.compile(
    r"(?<!\w)(?:"
    rf"(?:السيد|السيدة|الدكتور|الدكتورة|الأستاذ|الأستاذة|المهندس|المهندسة|آقای|خانم)\s(?!ال)({_ARABIC})"
    rf"|(?:श्री|श्रीमती|सुश्री|कुमारी|डॉ\.|डॉ॰|प्रो\.)\s({_DEVANAGARI})"
    r"|(?:גברת|ד[\"״]ר|פרופ['׳])\s([א-ת]+)"
    r")"
)
_HONOURED: Final = re.compile(rf"(?<![\u0900-\u097f])({_DEVANAGARI})\sजी(?![\u0900-\u097f])")
_NO_NAMES_TEXT: Final = "हाँ हां नहीं अरे क्यों सर मैडम माता पिता"
_NO_NAMES: Final = frozenset(_NO_NAMES_TEXT.split())

# Thai writes no spaces: a name ends where a common verb or particle begins.
_THAI: Final = "[\u0e01-\u0e4e]"
_THAI_GRAMMAR: Final = (
    "ทำ|อยู่|เป็น|ที่|และ|กับ|ชอบ|มี|จะ|ได้|ใน|ของ|ไป|มา|คือ|ใช้|บอก|พูด|ต้อง|เคย|กำลัง|ให้|ว่า|เกิด|สามารถ|ควร|คิด|อยาก|รู้|"
    "เห็น|ไม่|ก็|เอง|นี้|นั้น|หรือ|เรียน|สอน|ซื้อ|ขาย|กิน|ดื่ม|ส่ง|ถาม"
)
_THAI_VERB: Final = re.compile(_THAI_GRAMMAR)
_NO_THAI: Final = (
    "ภาพ|ค่า|สมบัติ|ธรรม|ลักษณะ|ประโยชน์|แม่|พ่อ|ครู|หมอ|ตา|ยาย|กฯ|กรัฐ|กเทศ|จ้าง|หน้า|เอก|แบบ|ฟ้า"
)
_THAI_TITLED: Final = re.compile(
    rf"(?<!ขอบ)(?<!บุญ)(?<!เจ้า)(?:คุณ|นางสาว|นาย|นาง(?!สาว)|ดร\.)\s?(?!{_THAI_GRAMMAR}|{_NO_THAI})"
    rf"({_THAI}{{2,16}}?)(?={_THAI_GRAMMAR}|(?!{_THAI}))"
)

_QUOTED: Final = re.compile(r"[“«\"]([^“”«»\"\n.,;:!?。，、！？；：؟،।]{2,24})[”»\"]")
_MAX_WORDS: Final = 3
_SPACED: Final = ("ar", "fa", "he", "hi", "ne", "bn", "ta", "ko")


def caseless_names(text: str) -> Iterator[Found]:
    """Find names, and in Japanese and Korean other nouns."""
    if not _CASELESS.search(text):
        return
    names = [_TITLE_QUOTES, _KATAKANA, _KOREAN_TITLED, _THAI_TITLED]
    if _HIRAGANA.search(text):
        yield from _find_all(_KANJI, text, "phrase")
    else:
        names += (_PERSON, _PLACE)
    for pattern in names:
        yield from _find_all(pattern, text, "name")
    for match in _HANGUL.finditer(text):
        if noun := _noun(match.group()):
            yield match.start(), match.start() + len(noun), "phrase"
    for pattern in (_TITLED, _HONOURED, _QUOTED):
        for start, end, kind in _find_all(pattern, text, "name"):
            if _may_be_name(text[start:end]):
                yield start, end, kind


def _find_all(
    pattern: re.Pattern[str], text: str, kind: Literal["name", "phrase"]
) -> Iterator[Found]:
    for match in pattern.finditer(text):
        yield *match.span(match.lastindex or 0), kind


def _noun(word: str) -> str:
    """Return a Korean word without its particle; empty if it has none, or may be a verb."""
    if particle := next((each for each in _PARTICLES if word.endswith(each)), ""):
        noun = word.removesuffix(particle)
    elif _ends_in_particle(word):
        noun = word[:-1]
    else:
        return ""
    return noun if len(noun) > 1 and noun not in _NO_NOUNS else ""


def _ends_in_particle(word: str) -> bool:
    consonant = (ord(word[-2]) - ord("가")) % 28
    if consonant:
        return word[-1] in _AFTER_CONSONANT and consonant not in _VERB_CONSONANTS
    return word[-1] in _AFTER_VOWEL and not (word[-1] == "는" and word[-2] in _VERB_SYLLABLES)


def _may_be_name(text: str) -> bool:
    """Whether it is in a script without capitals and not a sentence."""
    words = text.split()
    return (
        _CASELESS.search(text) is not None
        and len(words) <= _MAX_WORDS
        and not any(map(_is_grammar, words))
        and not any(character in _GRAMMAR for character in text)
        and not _THAI_VERB.search(text)
    )


def _is_grammar(word: str) -> bool:
    return word in _NO_NAMES or any(word in stop_words(each) for each in _SPACED)

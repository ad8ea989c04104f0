"""Words that say nothing about a concept, and the form that two spellings of one concept share."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

from recollect.core.text.analysis import STOP_WORDS
from recollect.core.text.stop_words import stop_words

# Words that stand between concepts and belong to none: what every sentence may hold, whatever it
# is about. With the stop words they part the phrases of a text.
_FILLERS_TEXT: Final = """
able above according across actually add added again against ago ah almost along already alright
although always among amount another anyone anything anyway around ask asked asking away awesome
back became become becomes began begin behind believe below best better between beyond big bit
both bring brought called came cannot case cause caused certain certainly change changed check
come comes coming common commonly completely consider considered consists contains continue could
couple course create created currently cut day days definitely described despite different do done
don't down due during each early easily easy either else end ended enjoy enough especially etc
even ever every everyone everything exactly example excited fact far feel feeling felt few find
finding first five follow followed following former found four fully further gave general
generally get gets getting give given gives giving glad go goes going gone gonna good got great
guess had half happen happened happy hard have haven't hear heard help helped helps hey hi high
highly hello hope hour hours however huge i'd i'll i'm i've idea if important include included
includes including increase increased indeed instead interesting it's itself join keep kept kind
knew know known knows large last late later latter learn least leave led left less let let's like
likely little live lived long longer look looked looking looks lot lots love loved made mainly
major make makes making many may maybe me mean means member members mention mentioned might mine
minute minutes moment month months mostly much must my myself name named near nearly need needed
needs never new next nice nine nothing now number obviously off often oh ok okay old older one
ones onto open originally others otherwise ourselves out outside overall part particular
particularly people perhaps person place play please plus point possible possibly pretty previous
previously probably provide provided provides put quite rather read ready real really received
recent recently related result results right run said same saw say saying says second see seem
seemed seems seen set seven several shall share shared short should show showed shown shows
significantly similar simply since single six small someone something sometimes soon sorry sort
sound sounds specific start started starts still stuff such suggest suggests super sure take taken
takes taking talk talked tell ten terms thank thanks that's them themselves therefore there's
thing things think thinking third though thought three throughout thus time times today together
told tomorrow tonight took total totally toward towards tried try trying turn turned two type
typically understand unless upon us use used user uses using usually various via want wanted wants
way ways we're we've week weeks well went whatever whether whole whose widely will wish within
without won't wonder wonderful work worked working works would wow year years yeah yes yesterday
yet you're you've young younger yourself assistant
"""
_FILLERS: Final = STOP_WORDS | frozenset(_FILLERS_TEXT.split())

# In other languages, beside the stop words: what opens a sentence, or stands in any.
_MORE_FILLERS: Final = {
    "de": """
gestern heute morgen übermorgen vorgestern immer nie niemals manchmal oft selten bitte danke leider
vielleicht eigentlich natürlich genau schon bereits erst eben mal gerne gern lieber besser sonst
deshalb deswegen daher trotzdem außerdem allerdings jedoch dabei dafür dagegen danach davor davon
dazu seit während wegen sowie sobald falls obwohl bevor nachdem damals derzeit aktuell künftig
zuerst zuletzt dann danke hallo haben hast habt sollen sollten wollen will wollte wollten darf
dürfen möchte möchten mag mögen könnten würde würden wäre wären war bist seid bleibt macht machen
gemacht geht gehen ging kommt kommen kam sagt sagte sagen gesagt weiß wissen findet finde nutzt
nutzen benutzt verwendet verwenden braucht brauchen arbeitet arbeiten wohnt lebt heißt mehr weniger
alles nichts jemand niemand andere anderen einige viele wenige beide zwei drei vier fünf neue neuen
neuer neues gut gute guten guter ganze ganzen herr frau januar februar märz april mai juni juli
august september oktober november dezember montag dienstag mittwoch donnerstag freitag samstag
sonntag denk denke merke merk vergiss nimm nutze verwende benutze schreib schreibe mach mache
""",
    "fr": """
hier aujourd'hui demain toujours jamais parfois souvent merci bonjour voici voilà peut-être alors
ensuite puis enfin ainsi cependant pourtant depuis lorsque lorsqu parce puisque afin car déjà
maintenant bien beaucoup peu trop moins fait faire faut peut peuvent doit doivent veux veut dit
utilise utilisons travaille habite préfère aime lundi mardi mercredi jeudi vendredi samedi dimanche
janvier février mars avril mai juin juillet août septembre octobre novembre décembre monsieur madame
""",
    "es": """
ayer hoy mañana siempre nunca jamás gracias hola entonces luego además quizás tal vez aunque desde
mientras ahora después bien mucho muchos mucha muchas menos hace hacer puede pueden debe deben
quiere quiero dice usa usamos utiliza trabaja vive prefiere prefiero gusta lunes martes miércoles
jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre
noviembre diciembre señor señora
""",
    "it": """
ieri oggi domani sempre mai grazie ciao forse allora inoltre mentre adesso ora dopo prima bene molto
molti fa fare può possono deve devono vuole dice usa usiamo lavora vive abita preferisce preferisco
lunedì martedì mercoledì giovedì venerdì sabato domenica signor signora
""",
    "pt": """
ontem hoje amanhã sempre nunca obrigado obrigada olá então além talvez enquanto agora depois bem
muitos faz fazer pode podem deve devem quer diz usa usamos trabalha mora vive prefere prefiro
segunda terça quarta quinta sexta sábado domingo senhor senhora
""",
    "nl": """
gisteren vandaag morgen altijd nooit soms vaak bedankt hallo misschien daarna daarom toen terwijl
sinds gebruikt gebruiken werkt woont vindt maandag dinsdag woensdag donderdag vrijdag zaterdag
zondag meneer mevrouw
""",
    "ru": """
вчера сегодня завтра всегда никогда иногда часто спасибо привет пожалуйста потом затем сейчас
теперь здесь поэтому однако хотя пока нужно надо должен должна должны будет будем буду был работает
живет живёт любит использует используем говорит сказал сказала наш наша наши наше моя мои твой ваш
понедельник вторник среда четверг пятница суббота воскресенье господин госпожа
""",
}

# Months, days and forms of address: capitalised, and no name by themselves.
_NO_NAMES_TEXT: Final = """
january february march april may june july august september october november december monday
tuesday wednesday thursday friday saturday sunday mr mrs ms dr prof sir st i am pm ad bc
"""
_NO_NAMES: Final = _FILLERS | frozenset(_NO_NAMES_TEXT.split())

# Stop words of other languages that open an English sentence as given names: "Ada prefers tea".
_GIVEN_NAMES_TEXT: Final = "ada ben dan dina ella hans kai kim mia mina ned theo tom uma una"
_GIVEN_NAMES: Final = frozenset(_GIVEN_NAMES_TEXT.split())

_ARTICLES: Final = frozenset({"the", "a", "an"})
_POSSESSIVE: Final = re.compile(r"['’]s?(?!\w)")
_APART: Final = re.compile(r"[^\w+#./:~-]+")
_EDGES: Final = "-./:~_"


# No accents: with them kana are other letters (ハ, バ, パ).
_VOICED: Final = "\u3099\u309a"


@cache
def fillers(languages: tuple[str, ...]) -> frozenset[str]:
    """What parts the phrases of a text in these languages."""
    others = (each for each in languages if each != "en")
    return _FILLERS.union(
        *((*stop_words(each), *_MORE_FILLERS.get(each, "").split()) for each in others)
    )


@cache
def no_names(languages: tuple[str, ...]) -> frozenset[str]:
    """What is capitalised, in a text in these languages, and no name by itself."""
    plain = fillers(languages) - _GIVEN_NAMES if "en" in languages else fillers(languages)
    return _NO_NAMES | plain


def concept_key(label: str) -> str:
    """What two spellings of one concept share: no case, accents, articles, possessives or plural;
    initials are one word.
    """
    folded = _POSSESSIVE.sub("", label).casefold()
    if not folded.isascii():
        letters = "".join(
            character
            for character in unicodedata.normalize("NFKD", folded).casefold()
            if not unicodedata.combining(character) or character in _VOICED
        )
        folded = unicodedata.normalize("NFC", letters)
    if "/" in folded or "_" in folded:  # an address, a path or code: written one way only
        return folded.strip().rstrip("/.,:;)")
    tokens = [
        token
        for part in _APART.split(_without_dots(folded.replace("-", " ")))
        if (token := part.strip(_EDGES))
    ]
    while len(tokens) > 1 and tokens[0] in _ARTICLES:
        del tokens[0]
    tokens = _initials_joined(tokens)
    if tokens:
        tokens[-1] = _singular(tokens[-1])
    return " ".join(tokens)


def _without_dots(text: str) -> str:
    """Dots part numbers, in a version, and nothing else."""
    if "." not in text or any(character.isdigit() for character in text):
        return text
    return text.replace(".", " ")


def _initials_joined(tokens: list[str]) -> list[str]:
    joined: list[str] = []
    was_initial = False
    for token in tokens:
        is_initial = len(token) == 1 and token.isalpha()
        if is_initial and was_initial:
            joined[-1] += token
        else:
            joined.append(token)
        was_initial = is_initial
    return joined


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word

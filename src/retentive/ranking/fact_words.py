"""The closed word lists of the restatement guard (see `dedupe`).

Every list names wording that may be dropped or rewritten. A word in no list carries a fact.
"""

from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _phrases(phrases: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in phrases.split("|"))


ARTICLES: Final = _set("a an the")

NUMBER_WORDS: Final = _set(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion once twice half first second third fourth fifth dozen"""
)

# An article is part of the meaning before these ("a few" / "few", "for a year" / "for the year"), and the
# letter A is a name before a verb or preposition ("plan a is approved").
ARTICLE_STAYS_BEFORE: Final = (
    _set(
        """few little lot bit while most least only same number hundred thousand million billion dozen
    couple second minute hour day week weekend fortnight month quarter year decade century night
    morning evening time is are was were be been am has have had does do did will would can could
    may might must shall should of and or but in on at to for from by with as than if not no out
    over under up down into"""
    )
    | NUMBER_WORDS
)
# "in prison" / "in the prison": without its article the noun is what one does there.
PREPOSITIONS: Final = _set("in at to from by on of out into off under for")
IDIOM_NOUNS: Final = _set(
    """prison jail school church college university court hospital bed sea town office question charge
    place air case view sight hand work class table home power order fact future past service use"""
)
# What is numbered by letters: "plan a" is not "a plan".
LETTERED: Final = _set(
    """plan rev revision vitamin grade type class group team section level block hepatitis option version
    building room gate zone terminal hall tier phase part point exhibit schedule appendix variant drive"""
)
# "half a day" / "half the day", "twice a week", and words that are spoken of rather than used.
ARTICLE_STAYS_AFTER: Final = _set("half quarter third twice once double times all both such what many")
MENTIONS: Final = _set(
    """word words keyword password passphrase passcode code term tag label name named called command
    letter say says said type typed write writes wrote spell spelled spelt means answer answers
    answered"""
)

FILLERS: Final = _set("please")
# "not really" is weaker than "not"; "hard to please" has a verb.
PLEASE_STAYS_AFTER: Final = _set("not no never to is was are were")
DROPPABLE: Final = FILLERS

# A leading phrase goes where a mark sets it off or it ends in "that"; few may trail.
ASIDES: Final = _phrases(
    """please note that|note that|please remember that|remember that|please note|note
    |please keep in mind that|keep in mind that|please be aware that|just so you know|just to be clear
    |as i said|as i said before|as i mentioned|as i mentioned before|as mentioned|as mentioned before
    |as you know|as stated|as noted|for the record|to be clear|to be honest|for your information
    |by the way|of course|well|hey|hi|hello|ok|okay|oh|so|um|uh|thanks|thank you|many thanks|please
    |fyi|btw|actually|basically|honestly|in fact|kindly"""
)
TRAILING_ASIDES: Final = _phrases(
    """as i said|as i said before|as i mentioned|as i mentioned before|as mentioned|as mentioned before
    |as you know|for the record|to be clear|to be honest|by the way|of course|thanks|thank you
    |many thanks|please|fyi|btw|in fact"""
)
# These need no mark behind them.
BARE_ASIDES: Final = frozenset({("fyi",), ("btw",), ("by", "the", "way")})
ASIDE_STARTS: Final = frozenset(phrase[0] for phrase in ASIDES)
LONGEST_ASIDE: Final = max(map(len, ASIDES))

# What makes a text English enough for the lists above: elsewhere "a" or "an" is a word of substance.
ENGLISH: Final = _set(
    """the is are were and with of has she they his their your this that these those from which when
    who not does did doesn't didn't isn't aren't don't should would could must cannot can't won't
    it's owns wants needs lives works uses likes loves prefers hates dislikes enjoys eats drinks
    avoids like love prefer hate dislike enjoy eat drink avoid please it we you"""
)

# After these a bare plural and a bare singular say the same ("prefers email" / "prefers emails").
_GENERIC_BARE = "like love prefer hate dislike enjoy eat drink avoid"
GENERIC_AFTER: Final = _set("likes loves prefers hates dislikes enjoys eats avoids")
GENERIC_PHRASES: Final = _phrases(
    """allergic to|averse to|sensitive to|afraid of|scared of|fond of|fan of
    |interested in"""
) | {(subject, verb) for verb in _GENERIC_BARE.split() for subject in ("i", "we", "you", "they", "to", "not")}
GENERIC_LAST: Final = GENERIC_AFTER | {phrase[-1] for phrase in GENERIC_PHRASES}
# Plurals that are another word than their singular.
PLURAL_CARRIES: Final = _set(
    """news goods means arms customs works times forces rights looks damages mains manners minutes
    jeans glasses spirits papers grounds heights waters sands woods shorts chips trunks drafts
    sweets greens reds browns blues classics runs lots links blacks whites hers ours yours theirs
    always perhaps adams williams richards edwards rogers roberts peters stevens daniels evans
    jacobs matthews andrews brooks lens species series maths physics politics economics statistics ethics
    athletics
    gymnastics"""
)

# Where one of these stands, each mark counts ("No, smoking is fine" / "No smoking is fine").
NEGATIONS: Final = _set(
    """no not never none nothing nobody neither nor without cannot nope hardly barely stop don't nein
    nicht kein keine keinen keiner nie niemals non ne pas jamais rien sin nunca jamás ni nada não
    nao nem mai niente nee niet geen nej inte ikke ikkje ei hay\u0131r değil yok нет не ни
    никогда нельзя без ні nie žádný لا لم لن ليس ليست ما לא אין नहीं न मत না নেই 아니 아니요 안 못 không
    đừng chưa tidak bukan jangan όχι δεν μην"""
)
ABBREVIATIONS: Final = _set("mr mrs ms dr prof st vs e.g i.e etc a.m p.m approx dept inc ltd jr sr")

_SUBJECTS_IS = "it he she that there here what who where how this"


def _expansions() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {
        "cannot": ("can", "not"),
        "can't": ("can", "not"),
        "won't": ("will", "not"),
        "shan't": ("shall", "not"),
        "&": ("and",),
        "a.m": ("am",),
        "p.m": ("pm",),
    }
    for verb in _set("is are was were do does did has have had could should would must need might"):
        found[f"{verb}n't"] = found[f"{verb}nt"] = (verb, "not")
    for subject in _set("i you we they it he she that there who this"):
        found[f"{subject}'ll"] = (subject, "will")
    for subject in ("you", "we", "they"):
        found[f"{subject}'re"] = (subject, "are")
        found[f"{subject}'ve"] = (subject, "have")
    found["i'm"], found["i've"] = ("i", "am"), ("i", "have")
    return found


EXPANSIONS: Final = _expansions()
# "it's" is "it is" only before these: before a participle it may be "it has".
IS_CONTRACTIONS: Final = {f"{subject}'s": (subject, "is") for subject in _SUBJECTS_IS.split()}
IS_BEFORE: Final = _set(
    """a an the not my your his her its our their in on at under over near very too so no never always
    only here there all both"""
)

# Units that may stand against their number or apart from it ("5mg" / "5 mg").
SPACED_UNITS: Final = _set(
    "mg kg μg km cm mm ml mL kW MW mW kWh MWh kB KB MB GB TB Mb Gb ms Hz kHz MHz GHz kV mV am pm a.m p.m"
)

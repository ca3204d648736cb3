"""How much each part of the score counts. Turns are scored by one profile, other memories by another."""

from dataclasses import dataclass, replace

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingProfile:
    """The constants of the ranking; a weight of 0 switches its part off.

    Attributes:
        name: What it is called, with its version.
        saturation: How soon more of a word counts no more (k1 of BM25).
        length: How much a long text is held against its words, from 0 to 1 (b of BM25).
        length_floor: Texts of fewer kept words than this count as this long.
        words: Weight of the words leg.
        soft: What a word counts whose vector equals that of the word asked for; less the less alike they are.
        soft_words: From more question words than this, exact matches take over from soft ones.
        before, after: How much a word in the turn just before or just after counts.
        second: The same for the turn before and after those.
        answer: How much more a turn just before counts when it is a short question (1 doubles it).
        neighbour_words: Texts of more kept words than this need their neighbours less.
        cosine: Weight of the cosine between question and memory, in standard deviations over the scope.
        windowed: Whether a turn's vector takes in its neighbours' (see `ranking.window`).
        min_cosine: A cosine above this is reason enough to be found, even with no word in common; texts that
            have nothing to do with each other lie around 0.
        pairs: Weight of question words that stand near each other in the memory.
        pair_distance: In how many kept words "near" is.
        first_person, time_words: What a turn gains that speaks of "I", or names a time.
        asking, asking_only: What a turn loses that ends with a question; and loses again without "I".
        told: What a memory gains that says much, less one that says little ("Wow!").
        told_enough: How much is much: the sum of its words' weights (idf).
        when: What a turn that names a time gains when the question asks when.
        speaker: What a turn gains whose speaker the question names.
        role: What a user's turn gains when the question speaks of "I" or "my".
        dates: What a memory gains that happened on a date named in the question.
        importance: Weight of importance, from -1 (importance 0) to 1 (importance 1).
        recency: Weight of recency: 1 now, half after `half_life_s`, and so on.
        fading: How far importance fades when a memory is not used, from 0 (never) to 1 (to nothing). Reasons
            and source are told in `ranking.priors.retained`.
        fading_half_life_s: How long it takes to lose half of it; with each use that much longer.
        newer: Two wordings that differ in a fact, with scores that lie this near, come newest first; the one
            of the more trusted origin comes before a newer one that is trusted less.
        stuffed: How much of what its words and its vector earned a text loses that repeats the words of the
            question over and over (see `ranking.stuffing`); 1 is all of it.
    """

    name: str
    saturation: float = 0.9
    length: float = 0.9
    length_floor: float = 30.0
    words: float = 1.0
    soft: float = 0.5
    soft_words: float = 6.0
    before: float = 0.3
    after: float = 0.2
    second: float = 0.15
    answer: float = 1.0
    neighbour_words: float = 25.0
    cosine: float = 0.8
    windowed: bool = True
    min_cosine: float = 0.1
    pairs: float = 0.3
    pair_distance: int = 3
    first_person: float = 2.0
    time_words: float = 0.6
    asking: float = 0.6
    asking_only: float = 3.0
    told: float = 1.5
    told_enough: float = 50.0
    when: float = 2.6
    speaker: float = 2.5
    role: float = 3.0
    dates: float = 6.0
    importance: float = 0.5
    recency: float = 0.5
    half_life_s: float = 30 * DAY_S
    fading: float = 0.0
    fading_half_life_s: float = 90 * DAY_S
    newer: float = 2.0
    stuffed: float = 1.0


CONVERSATION = RankingProfile(name="conversation/2")
"""For turns: the recipe T1b with all its constants as measured on conversations, and `told`."""

FACTS = RankingProfile(
    name="facts/2",
    before=0.0,
    after=0.0,
    second=0.0,
    answer=0.0,
    windowed=False,
    first_person=0.0,
    time_words=0.0,
    asking=0.0,
    asking_only=0.0,
    told=0.0,
    when=0.0,
    speaker=0.0,
    role=0.0,
)
"""For statements and documents: words, soft match, cosine, pairs, dates, importance, recency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """Which profile scores the turns of a scope, and which all other memories."""

    turns: RankingProfile = CONVERSATION
    others: RankingProfile = FACTS

    def relevance_only(self) -> "Profiles":
        """The same without importance, recency and the order of wordings: what the plain look-up uses."""
        return Profiles(turns=_relevance_only(self.turns), others=_relevance_only(self.others))

    def with_fading(self, share: float = 1.0, half_life_s: float = 90 * DAY_S) -> "Profiles":
        """The same with importance that fades (see `RankingProfile.fading`), which their names tell."""
        fading = _with_fading(self.turns, share, half_life_s), _with_fading(self.others, share, half_life_s)
        return Profiles(turns=fading[0], others=fading[1])

    @property
    def fades(self) -> bool:
        """Whether how often a memory was used matters to the score."""
        return any(each.fading and each.importance for each in (self.turns, self.others))

    def with_cosine(self, weight: float) -> "Profiles":
        """The same with this `cosine` in both, which their names tell."""
        return Profiles(turns=_with_cosine(self.turns, weight), others=_with_cosine(self.others, weight))


def _with_cosine(profile: RankingProfile, weight: float) -> RankingProfile:
    return replace(profile, cosine=weight, name=f"{profile.name} cosine {weight:g}")


def _with_fading(profile: RankingProfile, share: float, half_life_s: float) -> RankingProfile:
    name = f"{profile.name} fading {share:g}"
    return replace(profile, fading=share, fading_half_life_s=half_life_s, name=name)


def _relevance_only(profile: RankingProfile) -> RankingProfile:
    return replace(profile, importance=0.0, recency=0.0, newer=0.0)


RECALL = Profiles()
SEARCH = RECALL.relevance_only()

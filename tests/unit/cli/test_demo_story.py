from collections import defaultdict

from retentive.cli import demo_story as story
from retentive.ranking.dedupe import same_fact, text_key


def test_the_story_is_long_has_many_people_and_takes_months() -> None:
    said = story.turns()
    assert len(said) >= 120
    assert len({turn.thread for turn in said}) >= 6
    assert len({turn.speaker for turn in said}) >= 3
    assert 60 <= (said[-1].at - said[0].at).days <= 120
    assert said[-1].at < story.NOW


def test_turns_are_in_order_of_time_and_numbered_from_one_in_each_thread() -> None:
    said = story.turns()
    assert [turn.at for turn in said] == sorted(turn.at for turn in said)
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for turn in said:
        numbers[turn.thread].append(turn.number)
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())


def test_the_story_is_told_in_several_scripts() -> None:
    text = "".join(turn.text for turn in story.turns())
    for first, last in ("ぁヿ", "一鿿", "가힣", "กฮ"):
        assert any(first <= char <= last for char in text)


def test_there_are_ten_questions_and_each_has_an_answer_in_the_story() -> None:
    places = {(turn.thread, turn.number) for turn in story.turns()}
    asked = story.questions()
    assert len(asked) == 10
    assert all((question.thread, turn) in places for question in asked for turn in question.turns)


def test_facts_are_restated_word_for_word_and_nearly() -> None:
    texts = [fact.content for fact in story.facts()]
    pairs = [(a, b) for i, a in enumerate(texts) for b in texts[i + 1 :]]
    assert any(text_key(a) == text_key(b) for a, b in pairs)
    assert any(same_fact(a, b) and text_key(a) != text_key(b) for a, b in pairs)
    assert story.SECRET in texts
    assert not any(story.SECRET in turn.text for turn in story.turns())

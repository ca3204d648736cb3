"""What is chosen for a prompt is worth its room."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive.ranking.worth import Lineup, choose, discount

costs = st.lists(st.integers(min_value=1, max_value=40), max_size=7)
shares = st.sampled_from([0.0, 0.3, 1.0])


@st.composite
def lineups(draw: st.DrawFn) -> Lineup:
    given_costs = draw(costs)
    return Lineup(
        values=[discount(rank) for rank in range(1, len(given_costs) + 1)],
        costs=given_costs,
        floor=draw(shares),
        chained=draw(st.booleans()),
    )


@given(st.lists(lineups(), max_size=3), st.integers(min_value=-5, max_value=100))
def test_what_is_chosen_fits_and_nothing_is_chosen_twice(lists: list[Lineup], budget: int) -> None:
    chosen = choose(lists, budget)
    assert len(set(chosen)) == len(chosen)
    assert sum(lists[number].costs[at] for number, at in chosen) <= max(0, budget)


@given(st.lists(lineups(), max_size=3), st.integers(min_value=0, max_value=100))
def test_something_is_chosen_where_something_fits(lists: list[Lineup], budget: int) -> None:
    fits = any(cost <= budget for lineup in lists for cost in lineup.costs)
    assert bool(choose(lists, budget)) == fits


@given(st.lists(lineups(), max_size=3), st.integers(min_value=0, max_value=100))
def test_a_chain_has_no_hole_but_for_what_could_never_fit(lists: list[Lineup], budget: int) -> None:
    chosen = choose(lists, budget)
    for number, lineup in enumerate(lists):
        taken = [at for where, at in chosen if where == number]
        if lineup.chained and taken:
            assert taken == sorted(taken)
            for at in set(range(max(taken))) - set(taken):
                assert lineup.costs[at] > budget


@given(costs, st.integers(min_value=0, max_value=100))
def test_it_is_worth_at_least_half_of_the_best_choice(given_costs: list[int], budget: int) -> None:
    values = [discount(rank) for rank in range(1, len(given_costs) + 1)]
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(len(values)), size) for size in range(len(values) + 1)
    )
    best = max(
        sum(values[at] for at in subset)
        for subset in subsets
        if sum(given_costs[at] for at in subset) <= budget
    )
    chosen = choose([Lineup(values=values, costs=given_costs)], budget)
    assert sum(values[at] for _, at in chosen) >= best / 2 - 1e-9


@given(st.integers(min_value=1, max_value=60), st.integers(min_value=1, max_value=60))
def test_what_is_left_out_alone_of_its_list_had_no_room(first: int, second: int) -> None:
    chosen = choose([Lineup(values=[1.0], costs=[first]), Lineup(values=[1.0], costs=[second])], 60)
    assert len(chosen) == (2 if first + second <= 60 else 1)


def test_value_per_token_decides_between_lists() -> None:
    dear = Lineup(values=[1.0, 0.6], costs=[50, 50])
    cheap = Lineup(values=[0.5, 0.4], costs=[10, 10])
    assert choose([dear, cheap], 70) == [(1, 0), (1, 1), (0, 0)]


def test_one_item_that_is_worth_more_than_all_the_cheap_ones_goes_first() -> None:
    great = Lineup(values=[1.0], costs=[100])
    small = Lineup(values=[0.1], costs=[1])
    assert choose([great, small], 100) == [(0, 0)]


def test_a_floor_keeps_room_for_a_list_that_is_worth_less() -> None:
    loud = Lineup(values=[1.0] * 10, costs=[10] * 10)
    quiet = Lineup(values=[0.01], costs=[20])
    assert (1, 0) not in choose([loud, quiet], 100)
    floored = Lineup(values=[0.01], costs=[20], floor=0.2)
    assert (1, 0) in choose([loud, floored], 100)


def test_the_newest_of_a_chain_comes_before_all_whatever_it_costs() -> None:
    turns = Lineup(values=[1.0, 0.6], costs=[90, 5], floor=0.1, chained=True)
    memories = Lineup(values=[1.0] * 4, costs=[20] * 4, floor=0.5)
    assert choose([turns, memories], 100)[0] == (0, 0)


def test_a_turn_longer_than_the_whole_budget_does_not_hide_the_others() -> None:
    turns = Lineup(values=[1.0, 0.6, 0.5], costs=[500, 5, 5], floor=0.3, chained=True)
    assert choose([turns], 100) == [(0, 1), (0, 2)]


def test_a_turn_longer_than_the_whole_budget_does_not_cost_the_others_their_floor() -> None:
    turns = Lineup(values=[1.0, 0.01], costs=[500, 20], floor=0.2, chained=True)
    loud = Lineup(values=[1.0] * 10, costs=[10] * 10)
    assert (0, 1) in choose([turns, loud], 100)


def test_a_turn_for_which_there_is_no_room_ends_the_chain() -> None:
    turns = Lineup(values=[1.0, 0.6, 0.5], costs=[50, 60, 5], chained=True)
    assert choose([turns], 100) == [(0, 0)]


@pytest.mark.parametrize(("rank", "worth"), [(1, 1.0), (3, 0.5), (7, 1 / 3)])
def test_the_discount_is_that_of_discounted_cumulated_gain(rank: int, worth: float) -> None:
    assert discount(rank) == pytest.approx(worth)

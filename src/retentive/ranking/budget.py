"""What fits into a prompt."""

from collections.abc import Iterator, Sequence


def fitting(costs: Sequence[int], max_tokens: int) -> Iterator[int]:
    """The places, ascending, of the items that fit together into `max_tokens`.

    Items are taken whole, best first. One that is larger than what is left is passed over, and smaller ones
    behind it may still be taken: a long memory never keeps the others out.
    """
    left = max_tokens
    for place, cost in enumerate(costs):
        if cost <= left:
            left -= cost
            yield place

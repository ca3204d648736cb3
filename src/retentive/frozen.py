"""JSON values that cannot be changed, so that one copy can be shared by everybody who reads it."""

from collections.abc import Mapping
from typing import Any, NoReturn

from retentive.checks import Json


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError(f"a stored {type(self).__base__.__name__} cannot be changed; copy it first")  # pyright: ignore[reportOptionalMemberAccess]


class FrozenDict(dict[str, Json]):
    """A dict that refuses every change; equal to a plain one, and its copies are plain ones."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class FrozenList(list[Json]):
    """A list that refuses every change; equal to a plain one, and its copies are plain ones."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def frozen(values: Mapping[str, Json]) -> FrozenDict:
    """A deep copy that cannot be changed; the same object if it is one already."""
    if isinstance(values, FrozenDict):
        return values
    return FrozenDict({name: _frozen(value) for name, value in values.items()})


def _frozen(value: Json) -> Json:
    if isinstance(value, dict):
        return frozen(value)
    if isinstance(value, list):
        return FrozenList([_frozen(inner) for inner in value])
    return value

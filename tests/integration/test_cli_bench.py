"""`retentive bench recall`, from two files to a table, a JSON value and a picture."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Cli

METRICS = {"ndcg@10", "recall@5", "recall@10", "recall@20", "hit@10", "mrr"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    said = [
        ("Ana", "I adopted a dog called Bruno."),
        ("Ben", "Great! What kind is he?"),
        ("Ana", "A beagle."),
        ("Ben", "My sister Mia moved to Lisbon in May."),
        ("Ana", "Thanks!"),
        ("Ben", "Thanks!"),
    ]
    turns = [
        {
            "corpus": corpus,
            "id": f"D1:{number}",
            "session": 1,
            "time": "2023-05-08T13:56:00",
            "speaker": speaker,
            "text": text,
        }
        for corpus in ("one", "two")
        for number, (speaker, text) in enumerate(said, start=1)
    ]
    questions = [
        {"corpus": corpus, "id": f"q{number}", "question": text, "evidence": gold, "category": category}
        for corpus in ("one", "two")
        for number, (text, gold, category) in enumerate(
            [
                ("What is the name of Ana's dog?", ["D1:1"], "single-hop"),
                ("Where does Ben's sister live?", ["D1:4"], "single-hop"),
                ("What breed is Ben's dog?", ["D1:3"], "adversarial"),
                ("Who won?", [], "single-hop"),
            ]
        )
    ]
    for name, lines in (("memories", turns), ("questions", questions)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_the_json_value_has_the_shape_that_is_promised(here: Cli, data: Path) -> None:
    found: dict[str, Any] = here("bench", "recall", "--data", str(data), "--json").json()
    assert set(found) == {
        *("macro", "micro", "per_category", "latency_ms", "throughput", "intervals"),
        *("counts", "versions", "profile", "notes"),
    }
    assert set(found["macro"]) == set(found["micro"]) == METRICS
    assert set(found["per_category"]) == {"single-hop", "adversarial"}
    assert all(set(row) == METRICS for row in found["per_category"].values())
    assert found["macro"]["recall@10"] == found["micro"]["hit@10"] == 100.0
    assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p95"]
    assert set(found["throughput"]) == {"remember_per_s", "recall_per_s"}
    low, high = found["intervals"]["macro"]["ndcg@10"]
    assert low <= found["macro"]["ndcg@10"] <= high
    assert set(found["intervals"]) == {
        *("level", "resamples", "over", "seed", "macro", "micro", "per_category"),
    }
    assert found["counts"] == {
        "corpora": 2,
        "memories": 12,
        "questions": 6,
        "memories_without_text": 0,
        "questions_without_evidence": 2,
        "evidence_not_in_corpus": 0,
        "restated": 0,
    }
    assert found["profile"]["turns"].startswith("conversation/")
    assert found["profile"]["store"] == "sqlite"
    assert found["notes"] == ["questions without evidence: 2"]


def test_the_table_shows_each_category_and_how_sure_it_is(here: Cli, data: Path) -> None:
    told = here("bench", "recall", "--data", str(data), "--corpus", "two")
    assert told.code == 0, told
    lines = told.out.splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith(("3 questions", "Ranges")))
    assert [line.split()[0] for line in lines[1:5]] == ["macro", "micro", "adversarial", "single-hop"]
    assert "3 questions over 6 memories in 1 corpora" in told.out
    assert "over questions" in told.out
    assert "they are too narrow" in told.out
    assert told.err == "questions without evidence: 1\n"


def test_ablation_gives_the_change_for_each_part(here: Cli, data: Path) -> None:
    run = here("bench", "recall", "--data", str(data), "--ablate", "--json").json()
    parts = run["ablation"]
    assert {"words", "cosine", "neighbours", "speaker"} <= set(parts)
    for part in parts.values():
        for means in ("macro", "micro"):
            change = part[means]["ndcg@10"] - run[means]["ndcg@10"]
            assert part["change"][means]["ndcg@10"] == pytest.approx(change, abs=0.011)
    assert any(part["change"]["macro"]["ndcg@10"] != 0 for part in parts.values())


def test_peers_are_asked_the_same_questions(here: Cli, data: Path) -> None:
    args = ("bench", "recall", "--data", str(data), "--peer", "bm25", "--peer", "embedder")
    peers = here(*args, "--json").json()["peers"]
    assert list(peers) == ["bm25", "embedder"]
    for row in peers.values():
        assert set(row["macro"]) == METRICS
        assert set(row["per_category"]) == {"single-hop", "adversarial"}
    told = here(*args)
    assert [line.split()[0] for line in told.out.splitlines()[-3:]] == ["retentive", "bm25", "embedder"]


def test_an_absent_peer_is_named_and_the_others_run(
    here: Cli, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retentive.evaluation import peers

    absent = peers.Peer(make=peers.PEERS["bm25"].make, packages={"no_such_module": "no-such-package"})
    monkeypatch.setattr(peers, "PEERS", {"bm25": peers.PEERS["bm25"], "absent": absent})
    found = here("bench", "recall", "--data", str(data), "--peer", "all", "--json").json()
    assert found["peers"]["absent"] == {"skipped": "not installed; pip install no-such-package"}
    assert "absent: not installed; pip install no-such-package" in found["notes"]
    assert "macro" in found["peers"]["bm25"]


def test_the_confidence_is_measured_with_the_questions_of_another_corpus(here: Cli, data: Path) -> None:
    args = ("bench", "recall", "--data", str(data), "--confidence")
    run = here(*args, "--json").json()
    found = run["confidence"]
    assert (found["answered"], found["off_topic"]) == (6, 6)
    assert found["auc"] == 0.5, "both corpora hold the same"
    assert list(found["below"]) == ["0.1", "0.2", "0.3", "0.4", "0.5"]
    assert all(row["lost"] == row["caught"] for row in found["below"].values())
    assert "peers" not in run
    told = here(*args)
    assert "min_confidence (AUC 0.50)" in told.out
    assert [line.split()[0] for line in told.out.splitlines()[-5:]] == list(found["below"])


def test_the_seed_fixes_everything_but_the_times(here: Cli, data: Path) -> None:
    def measured(seed: str) -> Any:
        found = here("bench", "recall", "--data", str(data), "--seed", seed, "--json").json()
        return {name: found[name] for name in ("macro", "micro", "per_category", "intervals")}

    assert measured("7") == measured("7")


def test_it_measures_on_the_store_named_and_leaves_nothing_there(
    here: Cli, data: Path, tmp_path: Path
) -> None:
    store = f"sqlite:///{(tmp_path / 'mine.db').as_posix()}"
    assert here("remember", "Ana likes tea.", "--store", store).code == 0
    run = here("bench", "recall", "--data", str(data), "--store", store, "--json").json()
    assert run["macro"]["recall@10"] == 100.0
    namespaces = here("namespaces", "--store", store, "--json").json()
    assert "bench" not in json.dumps(namespaces)
    assert "default" in json.dumps(namespaces)


def test_data_without_sessions_times_and_speakers_is_measured(here: Cli, tmp_path: Path) -> None:
    facts = ["Ana speaks Thai.", "Ben keeps bees.", "The key is under the mat."]
    lines = [{"corpus": "c", "id": n, "text": text} for n, text in enumerate(facts)]
    (tmp_path / "memories.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    asked = {"corpus": "c", "question": "who keeps bees?", "evidence": [1]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    found = here("bench", "recall", "--data", str(tmp_path), "--json").json()
    assert found["per_category"]["all"]["mrr"] == 100.0


def test_a_bad_line_is_named_and_nothing_is_measured(here: Cli, data: Path) -> None:
    with (data / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write("{\n")
    told = here("bench", "recall", "--data", str(data), "--json")
    assert told.code == 2
    assert told.error()["type"] == "InvalidInput"
    assert "questions.jsonl, line 9: not JSON" in told.error()["message"]


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("--corpus", "three"), "no corpus 'three'"),
        (("--peer", "oracle"), "no peer is called 'oracle'"),
        (("--embedder", "oracle"), "no embedder is called 'oracle'"),
        (("--store", "redis://"), "later release"),
        (("--confidence", "--corpus", "one"), "questions of another corpus"),
        (("--seed", "x"), "seed must be a whole number"),
        (("--plot", "picture.svg"), "writes a .png file"),
        (("--plot", "nowhere/picture.png"), "there is no folder"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    here: Cli, data: Path, args: tuple[str, ...], reason: str
) -> None:
    told = here("bench", "recall", "--data", str(data), *args, "--json")
    assert told.code == 2
    assert reason in told.error()["message"]


def test_without_matplotlib_the_plot_says_what_to_install(
    here: Cli, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    told = here("bench", "recall", "--data", str(data), "--plot", "picture.png", "--json")
    assert told.code == 2
    assert "pip install 'retentive[bench]'" in told.error()["message"]


def test_the_plot_is_a_picture(here: Cli, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    told = here("bench", "recall", "--data", str(data), "--peer", "bm25", "--plot", "picture.png")
    assert told.code == 0, told
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG\r\n")

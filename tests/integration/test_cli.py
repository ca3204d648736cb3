"""The command as people and scripts run it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_runs import Cli

HOSTILE = [
    "../../evil",
    "/var/evil",
    "..",
    ".",
    "a/../../b",
    "a\\..\\b",
    "a" * 300,
    "",
    " a",
    "con",
    "a\x07b",
]
ODD_BUT_PLAIN = ["%2e%2e%2fevil", "~root", "C:evil", "Ä b", "京都", "-x"]


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_what_is_remembered_is_recalled_listed_counted_and_shown(cli: Cli, here: Cli) -> None:
    told = cli(
        *("remember", "Ana owes 40 euros for the bike.", "--kind", "episodic", "--importance", "0.9"),
        *("--tag", "money", "--tag", "ana", "--metadata", '{"page": 3}', "--key", "k1", "--origin", "tool"),
        *("--occurred-at", "2026-03-01T10:00:00+01:00", "--ttl", "52000w", "--user", "ben", "--json"),
    )
    item = told.json()["item"]
    assert told.json()["restated"] is False
    assert item["user_id"] == "ben"
    assert item["occurred_at"] == "2026-03-01T09:00:00.000000Z"
    assert item["expires_at"] > "3000"
    assert (item["kind"], item["importance"], item["tags"]) == ("episodic", 0.9, ["money", "ana"])
    assert (item["metadata"], item["origin"]) == ({"page": 3}, "tool")
    asked = cli(
        *("recall", "who owes money for the bike?", "--user", "ben", "--kind", "episodic", "--tag", "ana"),
        *("--since", "2026-03-01T00:00:00Z", "--until", "2026-03-02T00:00:00Z", "--json"),
    ).json()
    hit = asked["hits"][0]
    assert (hit["id"], hit["rank"]) == (item["id"], 1)
    assert sum(hit["why"].values()) == pytest.approx(hit["score"])
    assert here("search", "bike", "--user", "ben", "--json").ids() == [item["id"]]
    assert here("recall", "bike", "--user", "ben", "--min-score", "1e6", "--json").ids() == []
    assert here("recall", "bike", "--user", "ben", "--since", "2026-03-02T00:00:00Z", "--json").ids() == []
    assert here("list", "--user", "ben", "--json").json() == {"items": [item], "next": None}
    assert here("show", item["id"], "--user", "ben", "--json").json() == {"memory": item}
    stats = cli("stats", "--json").json()
    assert (stats["memories"], stats["scopes"]) == (1, [{"user_id": "ben", "memories": {"episodic": 1}}])


def test_a_question_about_something_else_is_answered_with_nothing_when_asked_so(here: Cli) -> None:
    for text in ("Ben plays the violin in an orchestra.", "The kitchen was painted green."):
        here("remember", text)
    for verb in ("recall", "search"):
        off = here(verb, "Did the committee approve the tax law?", "--min-confidence", "0.3", "--json").json()
        assert (off["hits"], off["abstained"]) == ([], True)
        assert 0 <= off["confidence"] < 0.3
        on = here(verb, "Who plays the violin?", "--min-confidence", "0.3", "--json").json()
        assert (on["hits"][0]["content"][:3], on["abstained"]) == ("Ben", False)
        assert {"confidence", "abstained"}.isdisjoint(here(verb, "violin", "--json").json())
    told = here("recall", "Did the committee approve the tax law?", "--min-confidence", "0.3")
    assert told.out == "nothing found\n"
    assert told.err.startswith("confidence 0.")
    assert told.err.endswith(": too low\n")


def test_plain_output_is_for_people(here: Cli) -> None:
    first = here("remember", "The kettle is blue.")
    memory_id = first.out.split()[-1]
    assert first.out == f"remembered {memory_id}\n"
    assert here("remember", "THE KETTLE IS BLUE").out == f"known already, not stored twice {memory_id}\n"
    other = here("remember", "The kettle is not blue.")
    assert f"both are kept: {memory_id} says 'The kettle is blue.'" in other.err
    found = here("recall", "kettle", "--why")
    assert memory_id in found.out
    assert "words " in found.out
    assert "\x1b" not in found.out
    listed = here("list", "--limit", "1")
    assert "not blue" in listed.out
    assert memory_id not in listed.out
    after = listed.err.split()[-1]
    assert memory_id in here("list", "--after", after).out
    assert "(shared)" in here("stats").out
    assert "default" in here("namespaces").out
    assert here("threads").out == "no threads\n"
    assert "kind" in here("show", memory_id).out


def test_api_2_a_printed_id_is_what_forget_takes_and_only_that(cli: Cli, here: Cli) -> None:
    here("remember", "The kettle is blue.")
    printed = cli("recall", "kettle").out
    memory_id = next(word for word in printed.split() if len(word) == 26)
    forgotten = cli("forget", memory_id, "--json")
    assert forgotten.code == 0
    assert forgotten.json()["forgotten"] == [memory_id]
    assert forgotten.json()["removed"]["rows"] == 1
    assert here("recall", "kettle", "--json").ids() == []
    for unknown in (memory_id, "1"):
        again = cli("forget", unknown, "--json")
        assert again.code == 3
        assert again.error()["type"] == "NotFound"
    assert here("forget", "1").err == "error: no memory '1' in namespace 'default'\n"


def test_forgetting_several_forgets_the_known_and_names_the_unknown(here: Cli) -> None:
    ids = [here("remember", text, "--json").json()["item"]["id"] for text in ("one apple", "two pears")]
    done = here("forget", *ids, "nobody", "--json")
    assert done.code == 3
    assert done.json()["forgotten"] == ids
    assert done.json()["not_found"] == ["nobody"]


def test_qry_3_an_id_is_data_and_never_a_pattern(here: Cli) -> None:
    here("remember", "one apple")
    for text in ("x' OR '1'='1", "%", "*", "", "\\", "a'); DROP TABLE memories; --"):
        assert here("forget", text).code == 3
    assert len(here("list", "--json").json()["items"]) == 1


def test_api_2_a_scope_without_memories_says_so(here: Cli) -> None:
    here("remember", "The kettle is blue.")
    typo = here("recall", "kettle", "--namespace", "typo", "--json").json()
    assert typo["hits"] == []
    assert "namespace 'typo' has no memories" in typo["hint"]
    assert "user 'nobody' has no memories" in here("search", "kettle", "--user", "nobody").err
    assert "namespace 'typo' has no memories" in here("list", "--namespace", "typo").err
    assert "hint" not in here("recall", "kettle", "--kind", "episodic", "--json").json()
    found = here("namespaces", "--json").json()["namespaces"]
    assert [row["namespace"] for row in found] == ["default"]


@pytest.mark.parametrize("text", ["five", "", "true", "null", "-1", "1000000", "5.5", "[5]"])
def test_api_1_an_odd_limit_is_refused_with_its_range(here: Cli, text: str) -> None:
    for command in (["recall", "x"], ["search", "x"], ["list"]):
        refused = here(*command, "--limit", text, "--json")
        assert refused.code == 2
        assert "limit must be a whole number from 0 to 1,000" in refused.error()["message"]


def test_api_1_a_limit_may_be_written_in_several_ways_and_zero_is_none(here: Cli) -> None:
    for text in ("one apple", "two apples", "three apples"):
        here("remember", text)
    for text in ("2", " 2 ", "2.0"):
        assert len(here("recall", "apple", "--limit", text, "--json").ids()) == 2
    assert here("recall", "apple", "--limit", "0", "--json").ids() == []
    for text in ("t1", "t2", "t3"):
        here("append", "t", text)
    shown = here("show", "t", "--limit", "2", "--json").json()
    assert [turn["content"] for turn in shown["turns"]] == ["t2", "t3"]
    assert here("show", "t", "--limit", "0", "--json").json()["turns"] == []
    assert here("show", "t", "--limit", "-1").code == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["remember", "x", "--occurred-at", "2026-03-01T10:00:00"], "has no time zone; add one"),
        (["remember", "x", "--kind", "opinion"], "kind must be one of working"),
        (["remember", "x", "--importance", "2"], "importance must be a number from 0 to 1"),
        (["remember", "x", "--importance", "nan"], "importance must be a finite number"),
        (["remember", "x", "--metadata", "[1]"], "metadata must be a JSON object"),
        (["remember", "x", "--ttl", "soon"], "ttl must be a number and a unit"),
        (["remember", "x", "--origin", "god"], "origin must be one of user"),
        (["remember", " "], "content is empty"),
        (["remember", "x", "--jsonl"], "--jsonl reads stdin"),
        (["remember", "x", "--store", "mysql://u:secret@h/db"], "unknown kind of store 'mysql'"),
        (["recall", "x", "--since", "yesterday"], "since must be a time like"),
        (["recall", "x", "--min-score", "inf"], "min-score must be a finite number"),
        (["recall", "x", "--min-confidence", "1.5"], "min_confidence must be from 0 to 1"),
        (["recall", "x", "--user", " "], "user_id"),
        (["recall", "x", "--nope"], "No such option: --nope"),
        (["recall"], "Missing argument 'QUERY'"),
        (["rememer", "x"], "No such command 'rememer'"),
        (["append", "t", "x", "--role", "robot"], "role must be one of"),
        (["clear", "--everyone", "--user", "a", "--yes"], "not both"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(here: Cli, args: Sequence[str], says: str) -> None:
    plain = here(*args)
    assert plain.code == 2
    assert plain.out == ""
    assert says in plain.err
    assert "secret" not in plain.err
    assert len(plain.err.strip().splitlines()) <= 2
    as_json = here(*args, "--json")
    assert as_json.code == 2
    assert as_json.error()["type"] == "InvalidInput"
    assert says in as_json.error()["message"]


def test_ids_1_a_hostile_name_is_refused_and_touches_nothing(here: Cli, tmp_path: Path) -> None:
    here("append", "ok", "hello")
    here("remember", "kept")
    before = _files(tmp_path)
    for name in HOSTILE:
        for command in (["append", "--", name, "x"], ["show", "--", name]):
            assert here(*command).code == 2, name
        assert here("remember", "x", f"--namespace={name}").code == 2, name
    assert _files(tmp_path) == before


def test_ids_1_an_odd_but_plain_name_is_an_ordinary_name(here: Cli, tmp_path: Path) -> None:
    for name in ODD_BUT_PLAIN:
        assert here("append", "--", name, f"turn of {name}").code == 0
        shown = here("show", "--json", "--", name).json()
        assert [turn["content"] for turn in shown["turns"]] == [f"turn of {name}"]
    listed = [row["thread"] for row in here("threads", "--json").json()["threads"]]
    assert sorted(listed) == sorted(ODD_BUT_PLAIN)
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


def test_qry_1_a_query_is_text(here: Cli) -> None:
    texts = ["Ticket KX-204 blocks the release", "Don't ship on Fridays", "Samples use C++ and C#"]
    texts += ["Config lives in etc/app\\conf.d", "The blue kettle leaks"]
    for text in texts:
        here("remember", text)
    top = {"KX-204": 0, "don't": 1, "C++": 2, "C#": 2, "etc/app\\conf.d": 3, "kettle OR": 4}
    for query, index in top.items():
        assert here("recall", "--json", "--", query).json()["hits"][0]["content"] == texts[index], query
    for query in ['"', "*", "(", "^", "- - -", "NEAR(", "AND", "note:", "🐱", "x " * 5_000, "", "--limit"]:
        asked = here("recall", "--json", "--", query)
        assert asked.code == 0, query
        assert asked.json()["query"] == query


def test_a_torn_thread_is_shown_with_a_note(here: Cli, tmp_path: Path) -> None:
    here("append", "t", "kept")
    log = next((tmp_path / "home").rglob("t.jsonl"))
    log.write_bytes(log.read_bytes() + b'{"seq": 2, "con')
    shown = here("show", "t")
    assert "kept" in shown.out
    assert "line 2 cannot be read" in shown.err
    assert here("append", "t", "next", "--json").json()["turn"]["seq"] == 2


def test_clear_asks_first(cli: Cli, here: Cli) -> None:
    here("remember", "mine", "--user", "ana")
    here("remember", "ours")
    for answer in (b"", b"n\n"):
        assert cli("clear", stdin=answer).code == 130
    assert here("stats", "--json").json()["memories"] == 2
    assert cli("clear", stdin=b"y\n").code == 0
    assert here("stats", "--json").json()["scopes"] == [{"user_id": "ana", "memories": {"semantic": 1}}]
    assert len(here("clear", "--everyone", "--yes", "--json").json()["forgotten"]) == 1


def test_the_store_is_the_option_else_the_variable_else_in_the_home(cli: Cli, tmp_path: Path) -> None:
    cli("remember", "in the home")
    cli("remember", "in the variable's", RETENTIVE_URL="sqlite:///by-variable.db")
    cli("remember", "in the option's", "--store", "sqlite:///by-option.db", RETENTIVE_URL="sqlite:///x.db")
    assert {path.name for path in tmp_path.glob("*.db")} == {"by-variable.db", "by-option.db"}
    assert (tmp_path / "home" / "memory.db").exists()


def test_a_store_that_cannot_open_is_code_5_and_never_a_stand_in(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "memory.db").write_bytes(b"this is no database, only some text" * 100)
    broken = cli("recall", "x", "--json")
    assert broken.code == 5
    assert broken.error()["type"] == "StoreCorrupt"
    assert "memory.db" in broken.error()["message"]


def test_output_is_utf_8_whatever_the_terminal_says(cli: Cli) -> None:
    text = "京都 é แมว 🐱"
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert cli("remember", text, "--json", **env).json()["item"]["content"] == text
    assert text in cli("list", **env).out


def test_help_and_version_and_the_table_of_codes(cli: Cli) -> None:
    assert cli("--version").out.startswith("retentive ")
    shown = cli("--help")
    assert shown.code == 0
    assert "Exit codes:" in shown.out
    assert "3 no such memory or thread" in " ".join(shown.out.split())
    assert "--occurred-at" in cli("remember", "--help").out


def test_import_retentive_does_not_import_the_command() -> None:
    heavy = ("typer", "rich", "retentive.cli")
    code = f"import sys, retentive; print([m for m in sys.modules if m.startswith({heavy!r})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

"""The commands about what was and what is, as people and scripts run them."""

from cli_runs import Cli


def remembered(here: Cli, text: str, *more: str) -> str:
    return here("remember", text, "--json", *more).json()["item"]["id"]


def listed(here: Cli, *more: str) -> list[str]:
    return [item["content"] for item in here("list", "--json", *more).json()["items"]]


def test_a_correction_is_recalled_and_its_history_told(here: Cli) -> None:
    old = remembered(here, "The office is in Oslo.", "--tag", "hq", "--importance", "0.8")
    done = here("supersede", old, "The office is in Bergen.", "--json").json()
    new = done["item"]
    assert done["superseded"] is True
    assert (new["supersedes"], new["tags"], new["importance"]) == (old, ["hq"], 0.8)
    assert here("recall", "where is the office?", "--json").ids() == [new["id"]]
    found = here("recall", "where is the office?", "--include-superseded", "--json").ids()
    assert sorted(found) == [old, new["id"]]
    story = here("history", old, "--json").json()["items"]
    assert [item["id"] for item in story] == [old, new["id"]]
    assert story[0]["valid_until"] == story[1]["valid_from"]
    told = here("history", new["id"])
    assert told.out.index("Oslo") < told.out.index("held until") < told.out.index("Bergen")
    again = here("supersede", new["id"], "The office is in Bergen.")
    assert f"{new['id']} says that already" in " ".join(again.out.split())


def test_the_two_times_and_the_floor_of_trust_are_options_of_every_reader(here: Cli) -> None:
    old = remembered(here, "The depot is at dock 4.")
    begun = "2026-01-05T00:00:00Z"
    new = here("supersede", old, "The depot is at dock 7.", "--valid-from", begun, "--json").json()["item"]
    remembered(here, "The depot has a tool shed.", "--origin", "tool")
    assert listed(here, "--as-of", "2026-01-04T00:00:00Z", "--min-trust", "user") == [
        "The depot is at dock 4."
    ]
    assert listed(here, "--known-at", new["valid_from"]) == []
    for verb in ("recall", "search"):
        asked = (verb, "depot dock", "--json", "--min-trust", "user", "--as-of", "2026-01-04T00:00:00Z")
        assert here(*asked).ids() == [old]
        assert here(verb, "depot dock", "--json", "--known-at", "2026-01-04T00:00:00Z").ids() == []
    assert here("list", "--min-trust", "god").code == 2


def test_what_cannot_be_superseded_says_why(here: Cli) -> None:
    old = remembered(here, "The code is 1234.")
    assert here("supersede", old, "The code is 99.", "--origin", "tool", "--json").code == 9
    here("supersede", old, "The code is 77.")
    gone = here("supersede", old, "The code is 55.", "--json")
    assert (gone.code, gone.error()["type"]) == (4, "Conflict")
    for command in (("supersede", "unknown", "x"), ("history", "unknown")):
        assert here(*command).code == 3


def test_conflicts_are_listed_with_the_reason(here: Cli) -> None:
    assert "no conflicts" in here("conflicts").out
    old = remembered(here, "The team has 4 members in Oslo.")
    new = remembered(here, "The team has 5 members in Oslo.")
    (pair,) = here("conflicts", "--json").json()["conflicts"]
    assert (pair["newer"]["id"], pair["older"]["id"]) == (new, old)
    assert pair["why"] == "numbers differ: 4 / 5"
    shown = here("conflicts")
    assert "numbers differ: 4 / 5" in shown.out
    assert "supersede" in shown.err
    assert here("conflicts", "--limit", "0", "--json").json()["conflicts"] == []

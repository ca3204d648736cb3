"""From a URL, or nothing, to a store."""

from pathlib import Path

import pytest

from retentive.errors import InvalidInput
from retentive.home import home
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.urls import open_store

HOME = Path("/somewhere")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RETENTIVE_URL", raising=False)
    monkeypatch.delenv("RETENTIVE_HOME", raising=False)


def absolute(path: str) -> str:
    return Path(path).absolute().as_posix().lstrip("/")


@pytest.mark.parametrize(
    ("spec", "url"),
    [
        ("sqlite:///mine.db", "sqlite:////" + absolute("mine.db")),
        ("SQLITE:////var/mine.db", "sqlite:////" + absolute("/var/mine.db")),
        ("sqlite:////var/my%20own.db", "sqlite:////" + absolute("/var/my own.db")),
        ("file:///var/memories", "file:///" + absolute("/var/memories")),
        ("memory://", "memory://"),
        (None, "sqlite:////" + absolute("/somewhere/memory.db")),
    ],
)
def test_a_url_names_a_store_and_the_store_gives_it_back(spec: str | None, url: str) -> None:
    store = open_store(spec, home=HOME)
    assert store.url == url
    assert open_store(store.url, home=HOME).url == url


def test_the_environment_names_the_store_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETENTIVE_URL", "memory://")
    assert open_store(None, home=HOME).url == "memory://"
    assert open_store("file:///var/memories", home=HOME).url.startswith("file://")


def test_a_store_is_given_back_as_it_is() -> None:
    store = InMemoryStore()
    assert open_store(store, home=HOME) is store


@pytest.mark.parametrize(
    "spec",
    [
        "mysql://ann:hunter2@host/db",
        "postgresql://ann:hunter2@host/db",
        "redis://:hunter2@host",
        "hunter2",
        "/var/hunter2.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://hunter2@host/x.db",
        "file://hunter2",
        "file:///",
        "memory://hunter2",
        "",
    ],
)
def test_what_is_no_store_is_refused_without_repeating_a_password(spec: str) -> None:
    with pytest.raises(InvalidInput, match=r"memory://|file:///|sqlite:///") as refusal:
        open_store(spec, home=HOME)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("scheme", ["postgresql", "redis", "redis+cluster"])
def test_fleet_stores_are_announced(scheme: str) -> None:
    with pytest.raises(InvalidInput, match="later release"):
        open_store(f"{scheme}://host", home=HOME)


def test_home_is_named_by_the_environment_or_is_in_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert home() == tmp_path / ".retentive"
    assert not home().exists()
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "elsewhere"))
    assert home() == tmp_path / "elsewhere"

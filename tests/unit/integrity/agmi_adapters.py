"""Our side of the public suite `agent-memory-integrity`: how to write, edit behind the back, read again."""

# The suite carries no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

import asyncio
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from agmi.adapters.base import MemoryAdapter, Record

from retentive import Memory, NewMemory, StoreCorrupt, open_thread
from retentive.integrity import FolderAnchor, Integrity
from retentive.stores.jsonl_threads import JsonlThreadStore

_T = TypeVar("_T")
KEY = b"a key that the attacker lacks..."
OURS, OTHER = "agmi-a", "agmi-b"


def run(work: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run(work)


class Adapter(MemoryAdapter):
    """What is common: a store's folder, and beside it the anchor, which the attacker cannot reach."""

    detection_point = "read"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True

    def setup(self) -> None:
        self.top = Path(tempfile.mkdtemp(prefix="agmi-retentive-"))
        self.store = self.top / "store"
        self.integrity = Integrity(key=KEY, anchor=FolderAnchor(self.top / "anchor"))
        self.count = 0

    def teardown(self) -> None:
        shutil.rmtree(self.top, ignore_errors=True)

    def say(self, owner: str, n: int) -> None:
        raise NotImplementedError

    def rows(self, owner: str) -> list[Record]:
        raise NotImplementedError

    def read(self) -> None:
        """Read all as an agent does."""
        raise NotImplementedError

    def seed(self, n: int) -> None:
        self.say(OURS, n)

    def seed_other(self, n: int) -> None:
        self.say(OTHER, n)

    def append_genuine(self) -> None:
        self.say(OURS, 1)

    def read_all_raw(self) -> list[Record]:
        return self.rows(OURS)

    def read_other_raw(self) -> list[Record]:
        return self.rows(OTHER)

    def reload(self) -> None:
        """Nothing stays open between calls."""

    def verify(self) -> bool:
        self.verify_detail = None
        try:
            self.read()
        except StoreCorrupt as error:
            self.verify_detail = f"{type(error).__name__}: {error}"
            return False
        return True

    def snapshot_store(self) -> object:
        return self._copy_store(self.store)

    def restore_store(self, token: object) -> None:
        self._restore_store(str(token), self.store)

    def owner_of(self, record: Record) -> str | None:
        return str(record.fields["owner"])


class MemoryRows(Adapter):
    """Memories, each as the texts of its record; `item` is JSON in every store."""

    url: str

    def memory(self) -> Memory:
        return Memory("agmi", store=self.url.format(self.store.as_posix()), integrity=self.integrity)

    def say(self, owner: str, n: int) -> None:
        async def work() -> None:
            async with self.memory() as memory:
                for _ in range(n):
                    self.count += 1
                    text = f"{owner} keeps parcel {self.count} at pier {self.count * 7}."
                    await memory.remember_many([NewMemory(content=text)], user_id=owner)

        self.store.mkdir(exist_ok=True)
        run(work())

    def read(self) -> None:
        async def work() -> None:
            async with self.memory() as memory:
                await memory.recall("where is the parcel?", user_id=OURS)
                assert len(await memory.list(user_id=OURS)) == len(self.read_all_raw())

        run(work())

    def mutate_payload(self, record: Record) -> Record:
        item = json.loads(record.fields["item"])
        item["content"] = item["content"].replace("parcel", "bomb")
        record.fields["item"] = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
        return record

    def forge_record(self, template: Record) -> Record:
        forged = self.mutate_payload(Record(seq=template.seq + 1, fields=dict(template.fields)))
        id = template.fields["id"][:-4] + "zzzz"
        forged.fields |= {"id": id, "text_key": None}
        forged.fields["item"] = forged.fields["item"].replace(template.fields["id"], id)
        return forged

    def identity_of(self, record: Record) -> str:
        return f"{record.fields['owner']}/{record.fields['id']}"

    def payload_of(self, record: Record) -> str:
        return json.dumps([json.loads(record.fields["item"])["content"], repr(record.fields["packed"])])

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        victim = self.read_all_raw()[victim_seq]
        self.write_raw(self.onto(victim, donor))

    def onto(self, victim: Record, donor: Record) -> Record:
        """The victim's slot with all that the donor says."""
        item = json.loads(donor.fields["item"])
        own = json.loads(victim.fields["item"])
        item |= {name: own[name] for name in ("id", "namespace", "user_id")}
        said = {**donor.fields, "id": victim.fields["id"], "owner": victim.fields["owner"], "text_key": None}
        said["item"] = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
        return Record(seq=victim.seq, fields=said)

    def read_meta(self, seq: int) -> dict[str, Any]:
        item = json.loads(self.read_all_raw()[seq].fields["item"])
        return {name: value for name, value in item.items() if name not in ("id", "content")}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        record = self.read_all_raw()[seq]
        tampered = {**meta, "origin": "document", "tags": ["verified"]}
        tampered.pop("agmi_meta_tampered", None)
        item = {**json.loads(record.fields["item"]), **tampered}
        record.fields["item"] = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
        self.write_raw(record)


class SqliteAdapter(MemoryRows):
    name = "retentive, SQLite, keyed"
    url = "sqlite:///{}/memory.db"
    columns = ("id", "kind", "text_key", "key", "near", "embedder", "packed", "vector", "item")

    def sql(self, text: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.store / "memory.db")
        try:
            rows = connection.execute(text, values).fetchall()
            connection.commit()
        finally:
            connection.close()
        return rows

    def rows(self, owner: str) -> list[Record]:
        found = self.sql(
            f"SELECT {', '.join('m.' + name for name in self.columns)} FROM memories m JOIN scopes s "
            "USING (scope_id) WHERE s.user_id = ? ORDER BY m.id",
            (owner,),
        )
        named = [dict(zip(self.columns, row, strict=True)) for row in found]
        return [Record(seq=n, fields={**row, "owner": owner}) for n, row in enumerate(named)]

    def write_raw(self, record: Record) -> None:
        there = self.read_all_raw()
        values = [record.fields[name] for name in self.columns[1:]]
        if record.seq < len(there):
            own = there[record.seq].fields["id"]
            item = json.loads(values[-1])
            item["id"] = own
            values[-1] = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
            values[1] = None
            sets = ", ".join(f"{name} = ?" for name in self.columns[1:])
            self.sql(f"UPDATE memories SET {sets} WHERE id = ?", (*values, own))
        else:
            marks = ", ".join("?" * (len(values) + 3))
            place, scope = self.sql("SELECT max(place), scope_id FROM memories")[0]
            names = "place, scope_id, " + ", ".join(self.columns)
            row = (place + 1, scope, record.fields["id"], *values)
            self.sql(f"INSERT INTO memories ({names}) VALUES ({marks})", row)

    def delete_raw(self, seq: int) -> None:
        self.sql("DELETE FROM memories WHERE id = ?", (self.read_all_raw()[seq].fields["id"],))


class ThreadAdapter(Adapter):
    name = "retentive, JSONL threads, keyed"

    def say(self, owner: str, n: int) -> None:
        async def work() -> None:
            thread = await open_thread(owner, store=JsonlThreadStore(self.store), integrity=self.integrity)
            for _ in range(n):
                self.count += 1
                await thread.append(f"{owner} says {self.count}", metadata={"source": "user"})

        run(work())

    def read(self) -> None:
        async def work() -> None:
            await open_thread(OURS, store=JsonlThreadStore(self.store), integrity=self.integrity)

        run(work())

    def lines(self, owner: str) -> list[dict[str, Any]]:
        path = self.store / "default" / f"{owner}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def put(self, lines: list[dict[str, Any]]) -> None:
        path = self.store / "default" / f"{OURS}.jsonl"
        path.write_text("".join(json.dumps(line) + os.linesep for line in lines))

    def rows(self, owner: str) -> list[Record]:
        return [Record(n, {**line, "owner": owner}) for n, line in enumerate(self.lines(owner))]

    def write_raw(self, record: Record) -> None:
        lines = self.lines(OURS)
        said = {name: value for name, value in record.fields.items() if name != "owner"}
        if record.seq < len(lines):
            lines[record.seq] = {**said, "seq": lines[record.seq]["seq"]}
        else:
            lines.append(said)
        self.put(lines)

    def delete_raw(self, seq: int) -> None:
        lines = self.lines(OURS)
        del lines[seq]
        self.put(lines)

    def mutate_payload(self, record: Record) -> Record:
        record.fields["content"] += " and more"
        return record

    def forge_record(self, template: Record) -> Record:
        forged = self.mutate_payload(Record(seq=template.seq + 1, fields=dict(template.fields)))
        forged.fields |= {"id": "forged", "seq": template.fields["seq"] + 1}
        return forged

    def identity_of(self, record: Record) -> str:
        return f"{record.fields['owner']}/{record.fields['seq']}"

    def payload_of(self, record: Record) -> str:
        return str(record.fields["content"])

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self.write_raw(Record(victim_seq, dict(donor.fields)))

    def read_meta(self, seq: int) -> dict[str, Any]:
        line = self.lines(OURS)[seq]
        return {"role": line["role"], "at": line["at"], "source": line["metadata"]["source"]}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        lines = self.lines(OURS)
        lines[seq]["role"] = "system"
        lines[seq]["metadata"]["source"] = "verified"
        self.put(lines)


class FileAdapter(MemoryRows):
    name = "retentive, file store, keyed"
    url = "file://{}"
    beside = ("text_key", "key", "packed", "vector")

    @property
    def path(self) -> Path:
        return self.store / "agmi.jsonl"

    def journal(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The memories, and the notes as lines of their own."""
        memories: dict[str, dict[str, Any]] = {}
        notes: list[dict[str, Any]] = []
        for line in map(json.loads, self.path.read_text().splitlines()):
            for memory in line.get("memories", [] if "notes" in line else [line]):
                memories[memory["id"]] = memory
            if "notes" in line:
                notes.append({name: value for name, value in line.items() if name != "memories"})
        return list(memories.values()), notes

    def put(self, memories: list[dict[str, Any]], notes: list[dict[str, Any]]) -> None:
        self.path.write_text("".join(json.dumps(line) + "\n" for line in [*memories, *notes]))

    def rows(self, owner: str) -> list[Record]:
        mine = [memory for memory in self.journal()[0] if memory["user_id"] == owner]
        found: list[Record] = []
        for n, memory in enumerate(mine):
            item = {name: value for name, value in memory.items() if name not in self.beside}
            kept = {name: memory.get(name) for name in self.beside}
            fields = {**kept, "id": memory["id"], "item": json.dumps(item), "owner": owner}
            found.append(Record(seq=n, fields=fields))
        return found

    def write_raw(self, record: Record) -> None:
        there = self.read_all_raw()
        memories, notes = self.journal()
        said = {name: record.fields[name] for name in self.beside if record.fields[name] is not None}
        line = {**json.loads(record.fields["item"]), **said}
        line.pop("text_key", None)
        if record.seq < len(there):
            own = there[record.seq].fields["id"]
            memories = [{**line, "id": own} if each["id"] == own else each for each in memories]
        else:
            memories.append(line)
        self.put(memories, notes)

    def delete_raw(self, seq: int) -> None:
        own = self.read_all_raw()[seq].fields["id"]
        memories, notes = self.journal()
        self.put([memory for memory in memories if memory["id"] != own], notes)

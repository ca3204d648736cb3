"""Who read and wrote what, without the content. Run it: python examples/life/audit.py"""

import asyncio
import tempfile
from pathlib import Path

from retentive import AuditLog, Memory
from retentive.audit import read_audit


async def main(log: Path) -> None:
    audit = AuditLog(log, actor="support-api", max_bytes=1_000_000, keep=12)
    async with Memory(store="memory://", audit=audit) as memory:
        item = await memory.remember("The alarm code is 1234.", user_id="ann")
        await memory.recall("alarm", user_id="ann")
        await memory.forget(item.id, user_id="ann")

    for entry in read_audit(log):  # `retentive audit audit.jsonl` shows the same
        assert entry is not None
        print(entry.type, entry.verb, entry.user_id, entry.actor, entry.ids == (item.id,))
    # > memory_write remember ann support-api True
    # > memory_read recall ann support-api True
    # > memory_forget forget ann support-api True
    print("alarm" in log.read_text(encoding="utf-8"))
    # > False


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place) / "audit.jsonl"))

"""Memory: the verbs, put together from one module a topic; each is thin and makes its call an event."""

from retentive.memory.assembling import Assembling
from retentive.memory.changing import Changing
from retentive.memory.embedding import Embedding
from retentive.memory.episodes import Episodes
from retentive.memory.forgetting import Forgetting
from retentive.memory.portability import Portability
from retentive.memory.reading import Reading
from retentive.memory.upkeep import Upkeep
from retentive.memory.working import Working
from retentive.memory.writing import Writing


class Memory(
    Episodes, Assembling, Working, Writing, Changing, Reading, Forgetting, Portability, Embedding, Upkeep
):
    """What an agent keeps, of one namespace. Ready without a key, a server or a download.

    Opens itself at the first call, or at `async with`; use that or `close()` to let go of files. One Memory
    may be used from many tasks at once, and from several event loops.

    Args:
        namespace: the tenant; nothing ever crosses from one namespace to another.
        store: `sqlite:///file.db`, `file:///folder`, `memory://`, or a store of your own, which you close
            yourself. None is RETENTIVE_URL, else `memory.db` in RETENTIVE_HOME or `./.retentive`.
        embedder: an Embedder, or the name of one: "minilm" and "e5" need the extra of their name,
            "openai:MODEL" the extra "openai", "pydantic-ai:PROVIDER:MODEL" the extra "agents". None is the
            one that ships with the package.
        name: what events call this Memory; None is the namespace.
        lifetimes: how long memories of a kind live that do not say so themselves. Kinds left out live on.
        profiles: how recall weighs what it finds; None is `ranking.profiles.RECALL`, with the embedder's own
            `cosine_weight` where it has one.
        integrity: "keyed" makes the store tamper-evident: what somebody without the key changed is refused
            with `Tampered`. None is what the variable RETENTIVE_INTEGRITY says, else "off".
        encryption: where the master key comes from, or an `Encryption`; needs the extra "encryption". None
            keeps the store in clear.
        redactor: takes secrets and personal data out of whatever is to be kept, before it is compared,
            embedded or stored; see `retentive.redaction`. None keeps all as it is.
        audit: writes down who read and wrote which memories, and when; see `retentive.audit`.
        track_use: count in the background how often memories are recalled and when last, for
            `RetentionRule.max_idle` and for importance that fades; costs a write some seconds after a recall.
        clock: the time, aware; for tests.
        new_id: makes ids that sort by time; for tests.

    Raises:
        InvalidInput: the namespace is not a plain name, or store or embedder is not known, or the embedder's
            extra is not installed.

    Example:
        >>> import asyncio
        >>> from retentive import Memory
        >>> async def main():
        ...     async with Memory(store="memory://") as memory:
        ...         await memory.remember("User prefers email over phone.", user_id="user-42")
        ...         hits = await memory.recall("how should I contact this user?", user_id="user-42")
        ...         return hits[0].content
        >>> asyncio.run(main())
        'User prefers email over phone.'
    """

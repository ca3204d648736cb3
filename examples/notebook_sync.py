"""The blocking facade as a notebook uses it, inside a running event loop too.

Run it: python examples/notebook_sync.py
"""

# %%
import asyncio

from retentive.sync import Memory

memory = Memory()
memory.remember("The boiler man is called Sven.")
memory.remember("Lena's sister lives in Osaka.")

# %%
for hit in memory.recall("who repairs the boiler?", limit=1):
    print(hit.rank, hit.content)
# > 1 The boiler man is called Sven.


# %%
async def as_in_a_notebook() -> str:
    """A notebook runs every cell inside an event loop, which a blocking call holds up meanwhile."""
    return memory.recall("where does the sister live?")[0].content


print(asyncio.run(as_in_a_notebook()))
# > Lena's sister lives in Osaka.

# %%
memory.close()

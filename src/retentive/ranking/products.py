"""Products of many vectors with a few.

A BLAS asked for all of a small product at once spreads it over all cores and waits for the slowest, which on
a busy machine costs many times the work itself. So small ones are kept on one core.
"""

import numpy as np
from numpy.typing import NDArray

# OpenBLAS stays on one core up to about this many multiplications.
_BLOCK_PRODUCTS = 2**18 - 1
# From here on memory is what a product waits for, and sharing it between cores pays.
_WORTH_SHARING_ROWS = 2**14


def cosines(few: NDArray[np.float32], many: NDArray[np.float32]) -> NDArray[np.float32]:
    """The products of each of the few unit vectors (rows) with each of the many (columns)."""
    block = max(1, _BLOCK_PRODUCTS // max(1, few.size))
    found = np.empty((len(few), len(many)), dtype=np.float32)
    for begin in range(0, len(many), block):
        np.matmul(few, many[begin : begin + block].T, out=found[:, begin : begin + block])
    return found


def cosine(one: NDArray[np.float32], many: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of one unit vector with each of the many."""
    return many @ one if len(many) >= _WORTH_SHARING_ROWS else np.vecdot(many, one)

"""A priority queue of edges whose priorities change while they wait; the smallest leaves first.

:class:`EdgeHeap` is compiled. ``push(edge, priority, tie=0)``, ``pop()`` and ``peek()`` (-> edge, priority),
``priority(edge)``, ``change(edge, priority, tie=None)``, ``lower(edge, by=1.0, tie=None)``, ``discard(edge)``,
``edge in heap`` and ``len(heap)`` serve one edge; ``push_many(edges, priorities, ties)``, ``pop_many(most)``,
``lower_many(edges, by, ties)`` and ``items()`` serve arrays. Edges are whole numbers; equal priorities are decided by
the tie, equal ties by the edge. Each change costs O(log m), a million edges take about 50 MB.

Examples
--------
>>> heap = EdgeHeap()
>>> heap.push(7, 0.5)
>>> heap.push(3, 0.5)
>>> heap.push(4, 0.75)
>>> heap.lower(4, by=1.0)
>>> [heap.pop() for _ in range(3)]
[(4, -0.25), (3, 0.5), (7, 0.5)]

References
----------
.. [1] Cormen, T. H., Leiserson, C. E., Rivest, R. L. & Stein, C. (2009). Introduction to Algorithms, chapter 6.
"""

from pgmx._ext._edge_heap import EdgeHeap, non_adjacent

__all__ = ["EdgeHeap", "non_adjacent"]

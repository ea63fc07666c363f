"""The moves of a graph together with its gains and scores, climbs on trial, and the way back.

Problem: a search that changes a graph, climbs and goes back makes thousands of moves, most of them to families that it
had before, so that what is done for each move counts for more than the scores.
Algorithm: the rows of gains that a search had stand in a table by child and parents, which is asked before the source.
From ``mark`` on, the moves and the rows that they replaced are kept, so that ``undo`` scores nothing.
A source whose counts come in messages gets all rows that a move touches in one, and with them, in a climb, the rows
after the next best additions: a child keeps its best addition until it is touched, so that most of them are used.
Cost: a look-up and O(n) to copy a row and to look for its largest gain per child that a move changes, beside the choice
of the move (``_dag_moves``).
Thread-safety: an object serves one thread; over a compiled source it releases the GIL while it climbs and scores.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.math cimport INFINITY
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from _dag cimport bit, rebuild_stale
from _expected_moves cimport list_additions_ahead, list_draws

from pgmx._ext._dag_moves cimport C_ADD, C_DELETE, C_REVERSE, DagMoves, Move
from pgmx._ext._row_cache cimport MOST_AHEAD, CachedScorer
from pgmx._ext._scorer cimport ALL, Family, Scorer

cdef extern from "_atomic.h" nogil:
    int64_t pgmx_take_next(int64_t *counter)

cdef enum:
    AHEAD = 4                   # rows that a climb asks a far source for before it needs them: 1 to 8 % go unused
    MOST_SPARE_ROWS = 64


cdef struct Replaced:           # what a child had at the last mark
    int child
    double *row
    double score, top


cdef struct Mark:               # the graph that `undo` goes back to
    bint is_set, is_free        # is_free: no move was barred
    Replaced *replaced          # the children that were scored anew
    Py_ssize_t n_replaced
    char *is_replaced           # by child
    double *bound               # by child, as the queue had them
    double *most
    double **spare              # rows for the next children
    Py_ssize_t n_spare


cdef class ScoredMoves(DagMoves):
    """A directed acyclic graph, its legal moves, and its gains and scores, which follow the graph.

    It is made as ``DagMoves`` is; the rows of ``gains`` are written. ``follow`` comes before anything else.
    """

    cdef object source, gain_array
    cdef dict rows
    cdef Scorer scorer              # the source where it is a compiled one, else None
    cdef CachedScorer cached        # the same where it keeps rows
    cdef double[::1] scores
    cdef Mark past
    cdef Move *log                  # the moves since the mark
    cdef Family *ahead              # families to ask a far source for, and the parents of those that are not there yet
    cdef int *parents_ahead
    cdef Py_ssize_t n_logged, room

    def follow(self, source, gains, double[::1] scores, dict rows=None):
        """Take the rows of ``gains``, the array of the queue, and the ``scores``, float64 (n,), from a source.

        ``rows`` are those that the source keeps: by the bytes of the child and its parents as int32, those of n gains
        and the score (``pgmx.scores.gains``).
        """
        self.source, self.gain_array, self.scores, self.rows = source, gains, scores, rows
        self.scorer = source if isinstance(source, Scorer) else None
        self.cached = source if isinstance(source, CachedScorer) else None
        free(self.ahead)
        free(self.parents_ahead)
        self.ahead = <Family *>malloc((self.n + MOST_AHEAD) * sizeof(Family))
        self.parents_ahead = <int *>malloc(MOST_AHEAD * self.n * sizeof(int))
        if self.ahead == NULL or self.parents_ahead == NULL:
            raise MemoryError(f"cannot follow the gains of {self.n} variables")

    def __dealloc__(self):
        cdef Py_ssize_t i
        self.forget_mark()
        for i in range(self.past.n_spare):
            free(self.past.spare[i])
        free(self.past.replaced)
        free(self.past.is_replaced)
        free(self.past.bound)
        free(self.past.most)
        free(self.past.spare)
        free(self.log)
        free(self.ahead)
        free(self.parents_ahead)

    # ---- what changes the graph ----

    def make(self, int op, Py_ssize_t tail, Py_ssize_t head, double least_gain=INFINITY):
        """Make a legal move and bring gains and scores up to date.

        Of a far source, the rows after additions that gain ``least_gain`` are asked for too: they are expected next.
        """
        with nogil:
            self.make_scored(op, tail, head, least_gain)

    def make_drawn(
        self, int op, Py_ssize_t tail, Py_ssize_t head, double temperature, Py_ssize_t n_draws, uint64_t word
    ):
        """Make a legal move that ``draw`` accepted, with ``n_draws`` to come at this temperature, from ``word`` on.

        Of a far source, the rows after the moves that these will accept, as far as that can be told, are asked for too.
        """
        cdef Move made = Move(op, <int>tail, <int>head, 0.0)
        cdef Py_ssize_t n
        with nogil:
            self.make_move(op, tail, head)
            self.log_move(op, tail, head)
            if self.scorer is not None and self.scorer.is_far:
                n = list_draws(self, made, temperature, n_draws, word, self.ahead, self.parents_ahead)
                self.scorer.expect(self.ahead, 2 if op == C_REVERSE else 1, n)
            self.rescore_child(head)
            if op == C_REVERSE:
                self.rescore_child(tail)

    def insert_unscored(self, Py_ssize_t tail, Py_ssize_t head):
        """Add an arc as ``insert_edge`` does; the caller then calls ``rescore`` for its head."""
        self.insert_edge(tail, head)
        self.log_move(C_ADD, tail, head)

    def delete_unscored(self, Py_ssize_t tail, Py_ssize_t head):
        """Delete an arc as ``delete_edge`` does; the caller then calls ``rescore`` for its head."""
        self.delete_edge(tail, head)
        self.log_move(C_DELETE, tail, head)

    def rescore(self, const int64_t[::1] children):
        """Bring the gains and the scores of ``children`` up to date."""
        cdef Py_ssize_t i, n = 0
        with nogil:
            for i in range(children.shape[0]):
                n = self.expect_child(n, children[i])
            self.rescore_expected(n)

    def climb(
        self, double least_gain, Py_ssize_t most_moves, Py_ssize_t most_rows=1, double[:, ::1] trace=None
    ) -> tuple:
        """Make the best move until none gains ``least_gain``; return how many were made, and whether none is left.

        It ends early after ``most_moves``, or when the source had to be asked for ``most_rows``, so that the caller can
        look at the clock. After each move its row of ``trace``, (most_moves, n + 1), takes the scores and the number of
        arcs.
        """
        cdef Move move
        cdef Py_ssize_t made = 0, rows = 0
        cdef bint is_optimum = False
        with nogil:
            while True:
                self.find_best(&move, least_gain)
                if move.op < 0 or move.gain < least_gain:
                    is_optimum = True
                    break
                if made == most_moves or rows >= most_rows:
                    break
                rows += self.make_scored(move.op, move.tail, move.head, least_gain)
                if trace is not None:
                    memcpy(&trace[made, 0], &self.scores[0], self.n * sizeof(double))
                    trace[made, self.n] = <double>self.dag.n_edges
                made += 1
        return made, is_optimum

    def try_blocks(
        self,
        const int[::1] nodes,           # in: those of all blocks, one block after the other
        const int64_t[::1] begins,      # in: (blocks + 1,) where each begins
        int64_t[::1] next_block,        # in and out: (1,) number of the next block, of which any thread takes it
        double least_gain,              # in: as for ``climb``
        double better,                  # in: the score, without the prior of the empty graph, that is a success
        Py_ssize_t most_rows,           # in: a trial is given up when so many rows were asked for in all
        int64_t[::1] n_moves,           # out: by block, the moves of its trial
        int64_t[::1] success,           # in and out: number of a block that succeeded; later ones are not tried
    ) -> tuple:
        """Take out all arcs at a block of nodes but required ones and climb, again and again, until a score is better.

        Each trial begins at the graph as it is. Return ``(success, given up, blocks tried)``, the first two numbers of
        blocks or -1: at a success the graph stays, and the mark is that before; else it is as it was, no move barred.
        The source is compiled.
        """
        cdef Py_ssize_t k, rows = 0, winner = -1, given_up = -1, n_tried = 0, n_cut, i
        cdef bint is_optimum
        cdef double total
        with nogil:
            while True:
                k = pgmx_take_next(&next_block[0])
                if k >= begins.shape[0] - 1 or k >= success[0]:
                    break
                n_tried += 1
                self.begin_mark()
                n_cut = self.cut_block(&nodes[0] + begins[k], begins[k + 1] - begins[k], &rows)
                n_moves[k] = 0
                is_optimum = n_cut == 0
                while not is_optimum and rows < most_rows:
                    is_optimum = self.climb_once(least_gain, &rows, &n_moves[k])
                self.allow_all()
                if not is_optimum:
                    given_up = k
                    self.go_back()
                    break
                total = self.dag.n_edges * self.bonus[C_ADD]
                for i in range(self.n):
                    total += self.scores[i]
                if n_cut > 0 and total > better:
                    success[0] = min(success[0], k)
                    winner = k
                    break
                self.go_back()
        return winner, given_up, n_tried

    cdef bint climb_once(self, double least_gain, Py_ssize_t *rows, int64_t *n_moves) except -1 nogil:
        # Makes the best move, one that was barred where no other gains; returns whether there is none.
        cdef Move move
        self.find_best(&move, least_gain)
        if move.op < 0 or move.gain < least_gain:
            return not self.allow_all()
        rows[0] += self.make_scored(move.op, move.tail, move.head, least_gain)
        n_moves[0] += 1
        return False

    cdef Py_ssize_t cut_block(self, const int *block, Py_ssize_t size, Py_ssize_t *rows) except -1 nogil:
        # Deletes the arcs at some nodes, but required ones; returns how many.
        cdef Py_ssize_t v, i, j, n_cut = 0, n_of_v, k, n_touched = 0
        cdef bint is_in, is_cut
        for v in range(self.n):
            is_in = False
            for j in range(size):
                is_in |= block[j] == v
            n_of_v, i = 0, 0
            while i < self.dag.n_parents[v]:
                k = self.dag.parents[v][i]
                is_cut = is_in
                for j in range(size):
                    is_cut |= block[j] == k
                if is_cut and not (self.required != NULL and bit(self.required + v * self.dag.words, k)):
                    self.remove_later(k, v)
                    self.log_move(C_DELETE, k, v)
                    n_of_v += 1
                else:
                    i += 1
            if n_of_v > 0:
                n_touched = self.expect_child(n_touched, v)
                n_cut += n_of_v
        rebuild_stale(&self.dag)
        rows[0] += self.rescore_expected(n_touched)
        return n_cut

    # ---- the way back ----

    def mark(self):
        """Remember the graph as it is."""
        self.begin_mark()

    cdef int begin_mark(self) except -1 nogil:
        cdef Mark *past = &self.past
        self.forget_mark()
        if past.replaced == NULL:
            self.allocate_mark()
        memcpy(past.bound, self.bound, self.n * sizeof(double))
        memcpy(past.most, self.most, self.n * sizeof(double))
        past.is_set, past.is_free = True, self.tabu_filled == 0
        return 0

    cdef int allocate_mark(self) except -1 nogil:
        cdef Mark *past = &self.past
        free(past.is_replaced)  # an attempt that failed
        free(past.bound)
        free(past.most)
        free(past.spare)
        past.is_replaced = <char *>calloc(self.n + 1, 1)
        past.bound = <double *>malloc((self.n + 1) * sizeof(double))
        past.most = <double *>malloc((self.n + 1) * sizeof(double))
        past.spare = <double **>malloc(MOST_SPARE_ROWS * sizeof(double *))
        if past.is_replaced and past.bound and past.most and past.spare:
            past.replaced = <Replaced *>calloc(self.n + 1, sizeof(Replaced))
        if past.replaced == NULL:
            with gil:
                raise MemoryError(f"cannot remember a graph of {self.n} variables")
        return 0

    def accept(self):
        """Stay with the graph as it is now: the mark is forgotten."""
        self.forget_mark()

    def undo(self):
        """Go back to the graph of the last ``mark``, without scoring anything."""
        self.go_back()

    cdef int go_back(self) except -1 nogil:
        cdef Move *move
        cdef Mark *past = &self.past
        cdef Replaced *replaced
        cdef Py_ssize_t i, v
        while self.n_logged > 0:
            self.n_logged -= 1
            move = self.log + self.n_logged
            if move.op == C_ADD:
                self.remove_later(move.tail, move.head)
                continue
            if move.op == C_REVERSE:
                self.remove_later(move.head, move.tail)
            rebuild_stale(&self.dag)
            self.insert(move.tail, move.head)
        rebuild_stale(&self.dag)
        for i in range(past.n_replaced):
            replaced = past.replaced + i
            v = replaced.child
            memcpy(&self.gains[v, 0], replaced.row, self.n * sizeof(double))
            self.scores[v], self.top[v] = replaced.score, replaced.top
        if past.is_set:
            self.recall_queue()
        self.forget_mark()
        return 0

    cdef void recall_queue(self) noexcept nogil:
        # What the queue knew of the graph of the mark, but of additions nothing where the barred moves were others.
        cdef Mark *past = &self.past
        cdef Py_ssize_t v
        memcpy(self.most, past.most, self.n * sizeof(double))
        if past.is_free and self.tabu_filled == 0:
            memcpy(self.bound, past.bound, self.n * sizeof(double))
        else:
            for v in range(self.n):
                self.forget_legal(v)

    def ends_since_mark(self):
        """Return the ends of all arcs touched since ``mark``, a set."""
        cdef Py_ssize_t i
        ends = set()
        for i in range(self.n_logged):
            ends.add(self.log[i].tail)
            ends.add(self.log[i].head)
        return ends

    cdef void forget_mark(self) noexcept nogil:
        cdef Mark *past = &self.past
        cdef Replaced *replaced
        while past.n_replaced > 0:
            past.n_replaced -= 1
            replaced = past.replaced + past.n_replaced
            past.is_replaced[replaced.child] = False
            if past.n_spare < MOST_SPARE_ROWS:
                past.spare[past.n_spare] = replaced.row
                past.n_spare += 1
            else:
                free(replaced.row)
        past.is_set = False
        self.n_logged = 0

    cdef int log_move(self, int op, Py_ssize_t tail, Py_ssize_t head) except -1 nogil:
        cdef Move *wider
        if not self.past.is_set:
            return 0
        if self.n_logged == self.room:
            wider = <Move *>realloc(self.log, (2 * self.room + 16) * sizeof(Move))
            if wider == NULL:
                with gil:
                    raise MemoryError(f"cannot remember {self.n_logged} moves")
            self.log, self.room = wider, 2 * self.room + 16
        self.log[self.n_logged].op = op
        self.log[self.n_logged].tail, self.log[self.n_logged].head = <int>tail, <int>head
        self.n_logged += 1
        return 0

    cdef int save_row(self, Py_ssize_t child) except -1 nogil:
        # Keeps the row of a child, which is about to be replaced.
        cdef Mark *past = &self.past
        cdef Replaced *replaced = past.replaced + past.n_replaced
        if past.is_replaced[child]:
            return 0
        if past.n_spare > 0:
            past.n_spare -= 1
            replaced.row = past.spare[past.n_spare]
        else:
            replaced.row = <double *>malloc((self.n + 1) * sizeof(double))
        if replaced.row == NULL:
            with gil:
                raise MemoryError(f"cannot remember a row of {self.n} gains")
        past.n_replaced += 1
        past.is_replaced[child] = True
        replaced.child = <int>child
        memcpy(replaced.row, &self.gains[child, 0], self.n * sizeof(double))
        replaced.score, replaced.top = self.scores[child], self.top[child]
        return 0

    # ---- gains and scores ----

    cdef int make_scored(self, int op, Py_ssize_t tail, Py_ssize_t head, double least_gain) except -1 nogil:
        # Returns how often the source was asked. Additions that gain less than `least_gain` are not expected next.
        cdef int n_asked
        cdef Py_ssize_t n, most
        self.make_move(op, tail, head)
        self.log_move(op, tail, head)
        if self.scorer is not None and self.scorer.is_far and (
            self.cached is None or self.cached.ahead is None or self.cached.ahead.is_due()
        ):
            n = self.expect_child(0, head)
            if op == C_REVERSE:
                n = self.expect_child(n, tail)
            most = n + (AHEAD if self.cached is None or self.cached.ahead is None else MOST_AHEAD - 2)
            self.scorer.expect(
                self.ahead, n, list_additions_ahead(self, least_gain, self.ahead, self.parents_ahead, n, most)
            )
        n_asked = self.rescore_child(head)
        if op == C_REVERSE:
            n_asked += self.rescore_child(tail)
        return n_asked

    cdef int rescore_expected(self, Py_ssize_t n) except -1 nogil:
        # Rescores the children of the first n families; returns how often the source was asked.
        cdef Py_ssize_t i
        cdef int n_asked = 0
        if self.scorer is not None and self.scorer.is_far:
            self.scorer.expect(self.ahead, n, n)
        for i in range(n):
            n_asked += self.rescore_child(self.ahead[i].child)
        return n_asked

    cdef Py_ssize_t expect_child(self, Py_ssize_t n, Py_ssize_t child) noexcept nogil:
        # Puts the family of a child behind the first n to ask for; returns how many there are then.
        self.ahead[n] = Family(child, self.dag.n_parents[child], self.dag.parents[child], ALL, NULL)
        return n + 1

    cdef int rescore_child(self, Py_ssize_t child) except -1 nogil:
        # Returns whether the source was asked.
        cdef Py_ssize_t n_before
        cdef bint is_asked = True
        if self.past.is_set:
            self.save_row(child)
        if self.scorer is None:
            with gil:
                is_asked = self.ask_source(child)
        else:
            n_before = 0 if self.cached is None else self.cached.n_asked
            self.scores[child] = self.scorer.compute_row(
                child, self.dag.parents[child], self.dag.n_parents[child], &self.gains[child, 0]
            )
            is_asked = self.cached is None or self.cached.n_asked > n_before
        self.read_gains(child)
        return is_asked

    cdef bint ask_source(self, Py_ssize_t child) except -1:
        # The same of a source in Python, after a look at the rows that it keeps.
        cdef object key, row = None
        cdef char *target
        cdef int number = <int>child
        cdef int k = self.dag.n_parents[child]
        if self.rows is not None:
            key = PyBytes_FromStringAndSize(NULL, (k + 1) * sizeof(int))
            target = PyBytes_AS_STRING(key)
            memcpy(target, &number, sizeof(int))
            if k > 0:
                memcpy(target + sizeof(int), self.dag.parents[child], k * sizeof(int))
            row = self.rows.get(key)
        if row is None:
            self.scores[child] = self.source.rescore(child, self.parents_of(child), self.gain_array)
        else:
            memcpy(&self.gains[child, 0], PyBytes_AS_STRING(row), self.n * sizeof(double))
            memcpy(&self.scores[child], PyBytes_AS_STRING(row) + self.n * sizeof(double), sizeof(double))
        return row is None

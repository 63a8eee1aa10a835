"""Compiled loops over index pairs, prototypes and neighbours.

Those over pairs work on one block of their output (``start`` to ``stop``) without the GIL, so blocks run in threads;
none makes an array as long as the pairs and as wide as the points. Sums may be re-associated (that is what makes them
fast), but NaN and infinity keep their meaning.
"""

import numpy as np

from holdfast._core.compiling import FAST, NONE, ZERO, entry, inner

_CHUNK = 16  # columns that are skipped together if none of them is near enough


@entry(fastmath=FAST)
def pair_forms(U, V, first, second, out, start, stop):
    """``out[t] = (u_i - u_j) . (v_i - v_j)`` for the pairs t = {i, j} of a block."""
    width = U.shape[1]
    for t in range(start, stop):
        i, j = first[t], second[t]
        total = 0.0
        for k in range(width):
            total += (U[i, k] - U[j, k]) * (V[i, k] - V[j, k])
        out[t] = total


@entry(fastmath=FAST)
def pair_squares(Z, indptr, second, out, start, stop):
    """``out[t] = ‖z_i - z_j‖²`` for the pairs t = {i, j} with i in a block of rows, four at a time."""
    width = Z.shape[1]
    for i in range(start, stop):
        t, last = indptr[i], indptr[i + 1]
        while t + 4 <= last:
            j0, j1, j2, j3 = second[t], second[t + 1], second[t + 2], second[t + 3]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for k in range(width):
                z = Z[i, k]
                s0 += (z - Z[j0, k]) ** 2
                s1 += (z - Z[j1, k]) ** 2
                s2 += (z - Z[j2, k]) ** 2
                s3 += (z - Z[j3, k]) ** 2
            out[t], out[t + 1], out[t + 2], out[t + 3] = s0, s1, s2, s3
            t += 4
        while t < last:
            j = second[t]
            total = 0.0
            for k in range(width):
                total += (Z[i, k] - Z[j, k]) ** 2
            out[t] = total
            t += 1


@entry
def take(values, index, out, start, stop):
    """``out = values[index[start:stop]]``."""
    for t in range(start, stop):
        out[t - start] = values[index[t]]


@entry
def scatter(reference, partial, factor, out):
    """``out[reference[u]] += factor · partial[u]``; neighbouring triplets often share a pair, so runs of equal targets
    are summed first.
    """
    u = 0
    while u < reference.size:
        position, total = reference[u], partial[u]
        u += 1
        while u < reference.size and reference[u] == position:
            total += partial[u]
            u += 1
        out[position] += factor * total


@entry
def scatter_some(order, reference, partial, out, start, stop):
    """``out[reference[t]] += partial[t]`` for t in ``order[start:stop]``."""
    for u in range(start, stop):
        t = order[u]
        out[reference[t]] += partial[t]


@entry
def degrees(first, second, weight, out, start, stop):
    """``out[i] = sum of the weights of the pairs that i is in``, of a block of pairs: a diagonal of Lap(weight)."""
    for i in range(out.size):
        out[i] = 0.0
    for t in range(start, stop):
        out[first[t]] += weight[t]
        out[second[t]] += weight[t]


@entry(fastmath=FAST)
def half_laplacian(indptr, second, weight, degree, X, out, start, stop):
    """``out[i] = degree_i x_i / 2 − Σ_j weight_ij x_j`` over the pairs listed under i, four at a time: half of
    Lap(weight) X, ``Xᵀ Lap X = Xᵀ out + outᵀ X``, so that a pair is read once, not twice.
    """
    width = X.shape[1]
    for i in range(start, stop):
        d = 0.5 * degree[i]
        for k in range(width):
            out[i, k] = d * X[i, k]
        t, last = indptr[i], indptr[i + 1]
        while t + 4 <= last:
            w0, w1, w2, w3 = weight[t], weight[t + 1], weight[t + 2], weight[t + 3]
            j0, j1, j2, j3 = second[t], second[t + 1], second[t + 2], second[t + 3]
            if w0 != 0.0 or w1 != 0.0 or w2 != 0.0 or w3 != 0.0:
                for k in range(width):
                    out[i, k] -= w0 * X[j0, k] + w1 * X[j1, k] + w2 * X[j2, k] + w3 * X[j3, k]
            t += 4
        while t < last:
            w, j = weight[t], second[t]
            for k in range(width):
                out[i, k] -= w * X[j, k]
            t += 1


@entry
def mark(mask, indices):
    """``mask[indices] = True``, several times faster than numpy for int32."""
    for t in range(indices.size):
        mask[indices[t]] = True


# -- index pairs without duplicates, in linear time -------------------------------------------------


@entry
def count_keys(keys, counts):
    """``counts[g] += 1`` for every key g."""
    for t in range(keys.size):
        counts[keys[t]] += 1


@entry
def order_keys(keys, position, order):
    """``order[position[g]] = t`` for the positions t of key g, and ``position[g]`` moves on."""
    for t in range(keys.size):
        g = keys[t]
        order[position[g]] = t
        position[g] += 1


@entry
def fill_pairs_of_anchors(i, j, l, met_under, met_at, target_of, first, second, ij, il, targets):
    """Fill the last five with the pairs (i, j) and (i, l); the numbers of pairs and of targets. For each point: the
    last anchor it was met under (-1: none), the index of that pair, and the last anchor it was a target of.
    """
    count, n_targets = 0, 0
    for t in range(i.size):
        u = i[t]
        v = j[t]
        if met_under[v] != u:
            met_under[v], met_at[v] = u, count
            first[count], second[count] = u, v
            count += 1
        ij[t] = met_at[v]
        if target_of[v] != u:
            target_of[v] = u
            targets[n_targets] = t
            n_targets += 1
        v = l[t]
        if met_under[v] != u:
            met_under[v], met_at[v] = u, count
            first[count], second[count] = u, v
            count += 1
        il[t] = met_at[v]
    return count, n_targets


@entry
def fill_distinct(indptr, order, j, met_under, met_at, first, second, position):
    """Fill the last three with the distinct ordered pairs (i, j) and each input's index among them; their number.
    ``order[indptr[u]:indptr[u + 1]]`` are the inputs with i = u.
    """
    count = 0
    for u in range(indptr.size - 1):
        for at in range(indptr[u], indptr[u + 1]):
            t = order[at]
            v = j[t]
            if met_under[v] != u:
                met_under[v], met_at[v] = u, count
                first[count], second[count] = u, v
                count += 1
            position[t] = met_at[v]
    return count


@entry
def drop_reversed(first, second, position, to, into, met_under, met_at, new, twin):
    """Drop (v, u), v > u, where (u, v), its ``twin``, is there too; the number of pairs kept. Pairs are sorted by their
    first points; ``into[to[u]:to[u + 1]]`` are the pairs that end at u.
    """
    t = 0
    for u in range(met_under.size):
        while t < first.size and first[t] == u:
            met_under[second[t]], met_at[second[t]] = u, t
            t += 1
        for at in range(to[u], to[u + 1]):
            r = into[at]
            v = first[r]
            if v > u and met_under[v] == u:
                twin[r] = met_at[v]
    count = 0
    for r in range(first.size):  # a twin comes before, so it has its new position
        if twin[r] < 0:
            first[count], second[count] = first[r], second[r]
            new[r] = count
            count += 1
        else:
            new[r] = new[twin[r]]
    for t in range(position.size):
        position[t] = new[position[t]]
    return count


# -- prototypes -------------------------------------------------------------------------------------


@entry
def nearest_borders(D, lengths, codes, labels, margins, rivals, targets):
    """For each row, the border between two prototypes that determines its margin. D holds squared distances to
    prototypes, ``lengths`` the ``‖a_l − a_j‖* > 0``. A rival whose largest border so far is no smaller than the margin
    is skipped.
    """
    for i in range(D.shape[0]):
        own, rival = ZERO - 1, ZERO - 1
        for k in range(D.shape[1]):
            if labels[k] == codes[i]:
                if own < 0 or D[i, k] < D[i, own]:
                    own = k
            elif rival < 0 or D[i, k] < D[i, rival]:
                rival = k
        smallest, at_l, at_j = np.inf, rival, own
        for step in range(D.shape[1] + 1):
            l = rival if step == 0 else step - 1
            if labels[l] == codes[i] or (step > 0 and l == rival):
                continue
            largest, of_l = (D[i, l] - D[i, own]) / (2.0 * lengths[own, l]), own
            for j in range(D.shape[1]):
                if largest >= smallest:
                    break
                if labels[j] == codes[i]:
                    border = (D[i, l] - D[i, j]) / (2.0 * lengths[l, j])
                    if border > largest:
                        largest, of_l = border, j
            if largest < smallest:
                smallest, at_l, at_j = largest, l, of_l
        margins[i], rivals[i], targets[i] = smallest, at_l, at_j


@entry
def add_borders(X, A, scaled, margins, rivals, targets, G, pair_sums):
    """``G_l += Σ_i u_i (a_l − x_i)``, ``G_j −= Σ_i u_i (a_j − x_i)``, ``pair_sums_lj += Σ_i u_i m_i``; u is scaled."""
    for i in range(X.shape[0]):
        l, j = rivals[i], targets[i]
        pair_sums[l, j] += scaled[i] * margins[i]
        for f in range(X.shape[1]):
            G[l, f] += scaled[i] * (A[l, f] - X[i, f])
            G[j, f] -= scaled[i] * (A[j, f] - X[i, f])


@entry
def fill_nearest_proxies(d, y, labels, same, other):
    """For each row of distances d, the nearest proxy of its class y and of the others; -1 is kept if there is none."""
    for i in range(d.shape[0]):
        for k in range(d.shape[1]):
            if labels[k] == y[i]:
                if same[i] < 0 or d[i, k] < d[i, same[i]]:
                    same[i] = k
            elif other[i] < 0 or d[i, k] < d[i, other[i]]:
                other[i] = k


# -- nearest neighbours -----------------------------------------------------------------------------


@entry(fastmath={"reassoc", "contract"})  # sums run in vectors, in one order for all points
def rank_rows(points, queries, found, distances):
    """Compute d² of all found and sort both: nearest first, of equals the smaller index; -1 is infinitely far."""
    for q in range(queries.shape[0]):
        for c in range(found.shape[1]):
            j, total = found[q, c], 0.0
            if j < 0:
                total = np.inf
            else:
                for i in range(points.shape[1]):
                    total += (queries[q, i] - points[j, i]) ** 2
            k = c  # insertion sort
            while k > 0 and (distances[q, k - 1] > total or (distances[q, k - 1] == total and found[q, k - 1] > j)):
                distances[q, k], found[q, k] = distances[q, k - 1], found[q, k - 1]
                k -= 1
            distances[q, k], found[q, k] = total, j


@entry
def scan(tile, index, start, first, last, own, same, found_same, other, found_other):
    """Insert the points of a tile, whose first column is ``start``, into each row's sorted lists. Columns ``first[r]``
    to ``last[r]`` are of the class of row r; column ``own[r]`` is the row's own point, if there.
    """
    width = tile.shape[1]
    for r in range(tile.shape[0]):
        head, tail = _within(first[r] - start, width), _within(last[r] - start, width)
        _insert(tile[r], index, ZERO, head, NONE, other[r], found_other[r])
        _insert(tile[r], index, head, tail, own[r] - start, same[r], found_same[r])
        _insert(tile[r], index, tail, width, NONE, other[r], found_other[r])


@inner
def _within(column, width):
    """The column, or the end of the tile that is nearest to it."""
    if column < 0:
        return ZERO
    return width if column > width else column


@inner
def _insert(tile, index, start, stop, own, distances, found):
    """Insert the columns start to stop that are nearer than those listed, without a row's own point; ties to the
    smaller index.
    """
    end = distances.size - 1
    for head in range(start, stop, _CHUNK):
        tail = head + _CHUNK if head + _CHUNK < stop else stop
        if tail - head == _CHUNK and _least(tile, head) > distances[end]:
            continue
        for c in range(head, tail):
            d, j, k = tile[c], index[c], end
            if d > distances[end] or c == own or (d == distances[end] and j > found[end] >= 0):
                continue
            while k > 0 and (distances[k - 1] > d or (distances[k - 1] == d and found[k - 1] > j)):
                distances[k] = distances[k - 1]
                found[k] = found[k - 1]
                k -= 1
            distances[k] = d
            found[k] = j


@inner(fastmath={"nnan", "nsz", "reassoc"})  # there is no NaN; a minimum runs in vectors
def _least(tile, head):
    """The least of a chunk: a loop of fixed length, without branches."""
    least = tile[head]
    for c in range(1, _CHUNK):
        least = tile[head + c] if tile[head + c] < least else least
    return least

"""Short sorted lists: the few smallest keys of a long sequence."""

from holdfast.numerics.compile import inner


@inner
def insert(key, index, keys, indices, count):
    """Insert into a list sorted by key (equal keys: the earlier stays first) as long as its arrays; its new length."""
    if count == keys.size:
        if not key < keys[count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and keys[i - 1] > key:
        keys[i] = keys[i - 1]
        indices[i] = indices[i - 1]
        i -= 1
    keys[i] = key
    indices[i] = index
    return count + 1


@inner
def insert_key(key, keys, count, cap):
    """Insert like :func:`insert`, without indices, for at most ``cap`` keys."""
    if count == cap:
        if not key < keys[count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and keys[i - 1] > key:
        keys[i] = keys[i - 1]
        i -= 1
    keys[i] = key
    return count + 1


@inner
def insert_largest(value, values, count):
    """Insert into a list of the largest, largest first, as long as its array; its new length."""
    if count == values.size:
        if not value > values[count - 1]:
            return count
        count -= 1
    i = count
    while i > 0 and values[i - 1] < value:
        values[i] = values[i - 1]
        i -= 1
    values[i] = value
    return count + 1


@inner
def contains(items, count, item):
    """True if ``item`` is among ``items[:count]``."""
    for i in range(count):
        if items[i] == item:
            return True
    return False

"""The description of a model in its file, checked before anything is built."""

from holdfast.persistence.archive import ModelFileError

_MAX_DEPTH = 200  # of nested nodes; a pipeline of a classifier of a learner of a learner has 30
_TREES = {"sklearn.neighbors._kd_tree.KDTree", "sklearn.neighbors._ball_tree.BallTree"}
_NOTHING = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null"}


def check_schema(name: str, schema, members: set[str]) -> set[str]:
    """Refuse a schema that would unpack to more than what is stored.

    A node that was met before, by its id, must say the same again: what skops builds is then no larger than what is
    written. An array may be named under one id only: it is then read once.

    Parameters
    ----------
    name : str
        Of the file.
    schema : dict
        As read from JSON.
    members : set of str
        Members of the archive.

    Returns
    -------
    set of str
        The arrays that it names.
    """
    _check_depth(name, schema)
    seen: dict[int, object] = {}
    owners: dict[str, int] = {}
    waiting = [(schema, _without_numbers(schema))]
    while waiting:
        node, content = waiting.pop()
        if isinstance(node, list):
            waiting += zip(node, content, strict=True)
        if not isinstance(node, dict):
            continue
        if "__loader__" in node:
            id_ = node.get("__id__")
            if id_ is not None and (not isinstance(id_, int) or seen.setdefault(id_, content) != content):
                raise ModelFileError(f"{name} is damaged: two parts of it have the same number.")
            if "file" in node and (
                not id_
                or not str(node["file"]).endswith(".npy")
                or node["file"] not in members
                or owners.setdefault(node["file"], id_) != id_
            ):
                raise ModelFileError(f"{name} is damaged: it names an array that is not there, or one twice.")
        waiting += [(child, content[key]) for key, child in node.items() if key in content]
    return set(owners)


def _check_depth(name: str, schema) -> None:
    waiting = [(schema, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise ModelFileError(f"{name} is nested more deeply than any model: it was not opened.")
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        waiting += [(child, depth + 1) for child in children]


def _without_numbers(node):
    """A copy without ids and names of arrays: skops writes a shared object in full each time, but numbers it anew."""
    if isinstance(node, dict):
        return {key: _without_numbers(child) for key, child in node.items() if key not in ("__id__", "file")}
    return [_without_numbers(child) for child in node] if isinstance(node, list) else node


def drop_trees(schema) -> int:
    """Replace scikit-learn's search trees by None, in place; they are built again from the rows.

    Their compiled code trusts the indices in them.

    Returns
    -------
    int
        How many there were.
    """
    dropped = 0
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
            if isinstance(child, dict) and f"{child.get('__module__')}.{child.get('__class__')}" in _TREES:
                node[key] = _NOTHING
                dropped += 1
            elif isinstance(child, (dict, list)):
                waiting.append(child)
    return dropped

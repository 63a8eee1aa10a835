"""The Protocol of a system that runs tasks on workers."""

from collections.abc import Callable
from typing import Any, Protocol

from holdfast.numerics.sums import tree_sum

_FAN_IN = 8  # sums added in one task: a power of two, as tree_sum needs; few tasks, and yet few sums at one worker


class Engine(Protocol):
    """Runs functions on workers. A *task* is a value that is yet to be computed, and may be an argument of others."""

    def task(self, function: Callable, *arguments) -> Any:
        """The task ``function(*arguments)``; arguments may be tasks, also inside lists and tuples."""
        ...

    def share(self, value) -> Any:
        """A task that stands for a value of this process, sent once however many tasks use it."""
        ...

    def keep(self, tasks: list) -> list:
        """Begin to compute the tasks, and keep the values on the workers for as long as the result is referred to."""
        ...

    def compute(self, tasks: list) -> list:
        """The values of the tasks, in this process."""
        ...

    def places(self, tasks: list) -> list:
        """The worker that holds the value of each task; empty if that is not known of all."""
        ...

    def task_at(self, place, function: Callable, *arguments) -> Any:
        """The same as ``task``, preferably at this place; None is any place."""
        ...


def sum_tasks(engine: Engine, tasks: list) -> tuple:
    """The sum of tuples, in the order of :func:`~holdfast.numerics.sums.tree_sum`, added on the workers."""
    while len(tasks) > 1:
        tasks = [engine.task(tree_sum, tasks[start : start + _FAN_IN]) for start in range(0, len(tasks), _FAN_IN)]
    return engine.compute(tasks)[0]

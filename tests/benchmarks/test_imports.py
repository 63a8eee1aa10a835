"""Every program of the benchmarks can be started: names they take from the library are still there."""

import importlib
import pkgutil

import pytest

import benchmarks

ELSEWHERE = {"benchmarks.frontier.trees_worker"}  # run by another interpreter, which has groot-trees
MODULES = [found.name for found in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")]


@pytest.mark.parametrize("name", sorted(set(MODULES) - ELSEWHERE))
def test_is_imported(name):
    importlib.import_module(name)

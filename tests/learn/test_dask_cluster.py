"""Rows on a cluster of two processes: the metric of arrays, after a few steps of each solver; workers may die."""

import os
import signal
import time

import numpy as np
import pytest

from holdfast.learn import proxy_nca

dask = pytest.importorskip("dask")
import dask.array as da  # noqa: E402

from holdfast.learn import dask as dask_module  # noqa: E402
from tests.learn.collections_of_rows import LEARNERS, apart, cut, four_classes  # noqa: E402


@pytest.fixture(scope="module")
def data():
    return four_classes()


@pytest.fixture(scope="module")
def client(local_cluster):
    distributed = pytest.importorskip("distributed")
    with local_cluster(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LEARNERS)
def test_processes_give_the_metric_of_one(client, data, name):
    learner = LEARNERS[name]
    here = learner.fit(*data)
    M, iterations, objective = here.get_mahalanobis_matrix(), here.n_iter_, here.objective_
    there = learner.fit(*cut(*data))
    assert apart(M, there.get_mahalanobis_matrix()) < 1e-8
    assert there.n_iter_ == iterations
    np.testing.assert_allclose(there.objective_, objective, rtol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["LMNN-PL", "ProxyNCA"])
def test_a_killed_worker_changes_nothing_but_time(client, data, name):
    """Also: the number of workers does not matter, threads in this process give the same bits."""
    collections = cut(*data)
    with dask.config.set(scheduler="threads"):
        expected = LEARNERS[name].fit(*collections).get_mahalanobis_matrix()
    workers, killed = client.cluster.workers.values(), []

    def kill(progress):
        if progress.iteration == 2 and not killed:
            kept = client.has_what()
            victim = max(workers, key=lambda worker: len(kept.get(worker.worker_address, ())))
            assert kept[victim.worker_address]  # it has something to lose
            killed.append(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)

    learner = type(LEARNERS[name])(**{**LEARNERS[name].get_params(deep=False), "callback": kill}).fit(*collections)
    np.testing.assert_array_equal(learner.get_mahalanobis_matrix(), expected)
    assert killed
    until = time.monotonic() + 30  # the cluster is whole again for the next test
    while killed[0] in {worker.pid for worker in workers} and time.monotonic() < until:
        time.sleep(0.1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["LMNN-PL", "ProxyNCA"])
def test_rows_stay_on_the_workers(client, data, name, monkeypatch):
    """No block is ever made here, and all that comes here in a fit is smaller than one."""
    (X, y), this_process, brought = data, os.getpid(), []

    def make(start):
        assert os.getpid() != this_process, "rows were asked for in the client"
        return X[start : start + 512], y[start : start + 512]

    blocks = [dask.delayed(make, nout=2)(start) for start in range(0, 1500, 512)]
    sizes = [512, 512, 476]
    dX = da.concatenate([da.from_delayed(b[0], (n, 20), float) for b, n in zip(blocks, sizes, strict=True)])
    dy = da.concatenate([da.from_delayed(b[1], (n,), int) for b, n in zip(blocks, sizes, strict=True)])
    compute = dask_module.compute

    def watched(tasks):
        found = compute(tasks)
        brought.append(size_of(found))
        return found

    monkeypatch.setattr(dask_module, "compute", watched)
    monkeypatch.setattr(proxy_nca, "_SAMPLE_SIZE", 200)  # k-means may look at a sample
    LEARNERS[name].fit(dX, dy)
    assert len(brought) > 10
    assert max(brought) < X[:476].nbytes
    assert np.median(brought) <= 8 * (20 * 20 + 100)  # a step: p × p, or proxies × p, and a few numbers


def size_of(found):
    if isinstance(found, tuple | list):
        return sum(size_of(item) for item in found)
    return getattr(found, "nbytes", 8)

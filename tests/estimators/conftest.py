"""One cluster for all tests of learners."""

import pytest


@pytest.fixture(scope="package")
def client():
    """A client of a real cluster of two processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client

"""What `doctor` and `status` report of a Citus cluster."""

from __future__ import annotations

import pytest

from recollect.core.admin.distribution import Distribution

WHOLE = Distribution("13.0", nodes=3, distributed=22, reference=8)


@pytest.mark.parametrize(
    ("found", "status", "detail"),
    [
        (WHOLE, "ok", "Citus 13.0, 3 nodes with shards, 22 distributed tables, 8 reference"),
        (Distribution("13.0", 3, 0, 0, local=("keys", "memories")), "warn", "keys, memories"),
        (Distribution("13.0", 3, 22, 8, is_unfinished=True), "fail", "not finished"),
        (Distribution("13.0", 3, 22, 8, is_superuser=True), "warn", "bypasses row-level security"),
        (Distribution("13.0", 3, 22, 8, lost=("db2:5432",)), "fail", "cannot be reached: db2:5432"),
    ],
)
def test_each_state_is_reported(found: Distribution, status: str, detail: str) -> None:
    check = found.check()
    assert check.status == status
    assert detail in check.detail
    assert bool(check.remedy) == (status != "ok")


def test_a_distribution_is_complete_with_every_table() -> None:
    assert WHOLE.is_complete
    assert not Distribution("13.0", 3).is_complete
    assert not Distribution("13.0", 3, 22, 8, local=("recalls",)).is_complete

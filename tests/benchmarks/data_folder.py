"""The folder of public data: PGMX_BENCHMARK_DATA, by default ``../shared/data`` next to the checkout."""

import os
from pathlib import Path

DATA = Path(os.environ.get("PGMX_BENCHMARK_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
STREAMS = DATA / "online"

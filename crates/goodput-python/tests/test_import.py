"""What `import fleet_goodput` costs and brings."""

import doctest
import subprocess
import sys


def test_import_brings_no_framework():
    script = (
        "import sys, fleet_goodput;"
        "print([m for m in ('torch', 'jax', 'numpy', 'pyarrow', 'pandas', 'polars', 'transformers', 'lightning')"
        " if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_docstrings_hold():
    import fleet_goodput.meter
    import fleet_goodput.recorder

    for module in (fleet_goodput.meter, fleet_goodput.recorder):
        assert doctest.testmod(module).failed == 0

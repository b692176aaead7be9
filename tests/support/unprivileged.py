"""jpq run by somebody whom the permissions of files bind, also where the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import List, Optional

import pytest

from tests.support.programs import JPQ, ROOT, WAIT_S, Ran, environment

# Root without the two capabilities that let it pass over permissions.
_AS_ROOT = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def _before() -> Optional[List[str]]:
    if os.name != "posix":
        return None
    if os.geteuid() != 0:
        return []
    return _AS_ROOT if shutil.which("setpriv") else None


BEFORE = _before()

needs_permissions = pytest.mark.skipif(BEFORE is None, reason="nothing binds root here")


def bound_jpq(*arguments: str) -> Ran:
    """Run ``jpq`` to its end, bound by permissions."""
    done = subprocess.run(
        [*(BEFORE or []), *JPQ, *arguments],
        env=environment(),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT_S,
    )
    return Ran(done.returncode, done.stdout, done.stderr)

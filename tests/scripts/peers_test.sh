#!/usr/bin/env bash
# Tests the reckoning of scripts/peers, without any of the peers.
set -euo pipefail
peers=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts/peers" && pwd -P)
if ! command -v python3 >/dev/null; then
  echo "Skipped: no python3 here"
  exit 77
fi
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))'; then
  echo "Skipped: $(python3 --version), and scripts/peers needs 3.8"
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 "$peers/selftest.py"

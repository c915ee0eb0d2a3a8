#!/bin/bash
# The Python package: its own tests, with the built daemon on private buses, its types and its format. The screen that the
# README shows is run by examples.sh.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs mypy mypy pycodestyle pycodestyle
needs_python pytest jeepney
/usr/bin/python3 -c 'import pytest_asyncio' 2> /dev/null ||
    skip "pytest-asyncio is not installed; on Debian: apt-get install python3-pytest-asyncio"
PYTHON=$(cd "$RIGS/../../../python" && pwd)

snippet() { sed '/^```python$/,/^```$/!d' "$1"; }

cd "$PYTHON"
# Beside the tests, which mostly wait.
background "$T/mypy.log" mypy --cache-dir "$T/mypy"
MYPY=$!
pycodestyle --max-line-length=120 --ignore=E203,W503 src tests || fail "the format of the Python package"
ok "the format of the Python package is right"
NOTIFYD_BUILD=$PRODUCTS /usr/bin/python3 -m pytest --quiet -p no:cacheprovider --basetemp "$T/pytest" ||
    fail "the tests of the Python package"
ok "its tests pass"
wait "$MYPY" || fail "the types of the Python package"
ok "its types are right"
[ "$(snippet README.md)" = "$(snippet ../README.md)" ] || fail "its README and that of notifyd show different screens"
ok "both READMEs show the same screen"

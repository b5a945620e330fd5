#!/bin/sh
# Set up a virtual environment: the packages that requirements/KIND.txt pins, and this project in it, editable.
# usage: scripts/setup.sh VENV KIND
set -eu

venv=$1
kind=$2

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

candidates() {
    if [ -n "${PYTHON:-}" ]; then
        echo "$PYTHON"
        return
    fi
    [ ! -f .python-version ] || echo "python$(head -n 1 .python-version)"
    printf '%s\n' python3.14 python3.13 python3.12 python3.11 python3 python
    # pyenv's commands fail where the version that .python-version names is not installed; its folders do not.
    ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-9]*/bin/python3 2>/dev/null || true
}

create() {
    fallback=
    for python in $(candidates); do
        usable "$python" || continue
        if "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
            "$python" -m venv --clear "$venv"
            return
        fi
        fallback=${fallback:-$python}
    done
    if [ -z "$fallback" ]; then
        echo "Python 3.11 or newer is needed, and none was found. Install one, or name it: make PYTHON=/path/to/python3 ..." >&2
        exit 1
    fi
    if command -v uv >/dev/null 2>&1; then
        uv venv --quiet --clear --seed --python "$fallback" "$venv"
        return
    fi
    echo "$fallback cannot make virtual environments. On Debian or Ubuntu: apt install python3-venv" >&2
    echo "Or install uv (https://docs.astral.sh/uv/), which is used when it is there. Then run make again." >&2
    exit 1
}

find_bin() {
    bin=$venv/bin
    [ ! -d "$venv/Scripts" ] || bin=$venv/Scripts
}

find_bin
if ! usable "$bin/python" || ! "$bin/python" -m pip --version >/dev/null 2>&1; then
    create
    find_bin
fi
echo "Setting up $venv ($("$bin/python" --version), $kind). The first time this takes a minute or two." >&2
"$bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "requirements/$kind.txt"
"$bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .

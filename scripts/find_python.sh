#!/bin/sh
# Prints a Python interpreter of version 3.11 or newer that can make virtual environments: $PYTHON if it is set, else
# the first candidate that runs. A name on the path is not enough: version managers leave names there that run nothing.
for candidate in ${PYTHON:-python3.11 python3 python3.12 python3.13 python3.14 python}; do
    if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        command -v "$candidate"
        exit 0
    fi
done
echo "No Python >= 3.11 with the venv module was found${PYTHON:+ (PYTHON=$PYTHON was tried)}." >&2
echo "Install one (Debian: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python3.12 ..." >&2
exit 1

"""What an interpreter can run: printed as one line of JSON, for the window and ./run.sh.

    INTERPRETER .../tapedeck/_session/environment.py

Runs in any Python from 2.7 on, so that one which is too old can be named; only Python's own modules are imported, and no package
that is looked for: torch alone would take seconds.
"""
import sys

if sys.path:
    del sys.path[0]  # this file's folder, whose modules are named like others

import json
import os
import sysconfig

PACKAGES = ["torch", "ipykernel", "numpy", "tapedeck", "pip"]


def facts():
    """Python's version, and of each package its version, or "" where it has none, or None where it is not installed."""
    found = {
        "interpreter": sys.executable,
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
        "prefix": sys.prefix,
        "headers": sysconfig.get_paths()["include"],
        "packages": {},
    }
    # The distribution's own Python, into which pip installs nothing (PEP 668).
    found["managed"] = sys.prefix == getattr(sys, "base_prefix", sys.prefix) and os.path.isfile(
        os.path.join(sysconfig.get_paths()["stdlib"], "EXTERNALLY-MANAGED"))
    found["has_headers"] = os.path.isfile(os.path.join(found["headers"], "Python.h"))
    for name in PACKAGES:
        folder = _folder_of(name)
        found["packages"][name] = None if folder is None else _version_of(name)
        if name == "tapedeck" and folder is not None:
            found["module"] = folder
            found["fingerprint"] = _read(os.path.join(folder, "_fingerprint"))
    return found


def _folder_of(name):
    """The folder of the package that an import would take; None: there is none. Finds it without importing it."""
    try:
        from importlib.util import find_spec  # Python 2 has none
    except ImportError:  # Python 2
        return None
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:  # a folder of that name without a package in it
        return None
    return os.path.dirname(spec.origin)


def _version_of(name):
    try:
        from importlib.metadata import version  # from Python 3.8 on
    except ImportError:  # before Python 3.8
        return ""
    try:
        return version(name) or ""
    except Exception:  # of one that was not installed as a distribution, or whose metadata is damaged
        return ""


def _read(path):
    try:
        with open(path) as file:
            return file.read(200).strip()
    except (OSError, ValueError):
        return ""


if __name__ == "__main__":
    print(json.dumps(facts()))

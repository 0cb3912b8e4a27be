"""Writes which sources a module was built from: fingerprint.py ENGINE_FOLDER FILE.

The window compares its own module's fingerprint with the one in an environment; the version alone stays the same from one release
to the next.
"""
import hashlib
import os
import sys

KINDS = (".cpp", ".h", ".py", ".cu", ".in", ".txt", ".def")


def fingerprint(engine):
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(engine):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith(KINDS):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    contents = file.read()
                digest.update(f"{os.path.relpath(path, engine)}\0{len(contents)}\0".encode())
                digest.update(contents)
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="ascii") as output:
        output.write(fingerprint(sys.argv[1]) + "\n")

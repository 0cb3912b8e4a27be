"""Where the debug server of a session listens. The app follows the same rule (app/kernel/jupyter/connection.h).

A connection file that the app wrote is named connection.json and has a folder of its own: there the socket is `debug`.
Jupyter keeps the files of all its kernels in one folder, named kernel-ID.json: for those the socket is `debug` in
`tapedeck/ID` of the user's runtime folder, so that a program that knows the kernel's id can find it.
"""

import os

from tapedeck._session import private_folder

APP_FILE = "connection.json"
FILES = ("debug", "forks")  # what a session has in the folder that it made
LONGEST_PATH = 107  # bytes of a Unix socket's path


def base_folders():
    """Where the user's private folder for sessions' sockets may be, the best place first: the app's list
    (app/kernel/process/runtime_folder.h)."""
    runtime, temporary = _absolute("XDG_RUNTIME_DIR"), _absolute("TMPDIR")
    name = f"tapedeck-{os.geteuid()}"
    candidates = [os.path.join(runtime, "tapedeck")] if runtime else []
    candidates += [os.path.join(folder, name) for folder in (temporary, "/tmp") if folder]
    cache = _cache_folder()
    if cache:  # where another user can't have taken the name
        candidates.append(os.path.join(cache, "run"))
    return list(dict.fromkeys(candidates))


def own_base_folder(folder):
    """Whether one of base_folders() is, or now became, the user's alone."""
    cache = _cache_folder()
    if cache and os.path.dirname(folder) == cache:
        try:
            os.makedirs(os.path.dirname(cache), exist_ok=True)
        except OSError:
            return False
        own_private_folder(cache)
    return own_private_folder(folder)


def base_folder():
    """The user's private folder for sessions' sockets: the same that the app takes."""
    candidates = base_folders()
    for folder in candidates:
        if own_base_folder(folder):
            return folder
    raise OSError("no folder for the debug server's socket can be made that only the user can enter: "
                  f"tried {', '.join(candidates)}")


def folder_of(connection_file):
    folder, name = os.path.split(os.path.abspath(connection_file))
    if name == APP_FILE:
        return folder
    kernel = os.path.splitext(name)[0].removeprefix("kernel-")
    if not kernel or kernel.startswith(".") or kernel == "programs":
        raise OSError(f"the connection file {connection_file} names no kernel: kernel-ID.json is expected")
    return os.path.join(base_folder(), kernel)


def make_folder(connection_file):
    """The folder for this connection file's sockets; it is there afterwards, and only the user can enter it."""
    folder = folder_of(connection_file)
    if not own_private_folder(folder):
        raise OSError(f"the folder {folder} is not the user's own, or others can enter it")
    return folder


def socket_in(folder, name):
    """The endpoint of a socket of that name."""
    path = os.path.join(folder, name)
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise OSError(f"the path of the session's socket is longer than {LONGEST_PATH} bytes: {path}")
    return "ipc://" + path


def prepare(connection_file):
    """The debug server's endpoint for this connection file; its folder is there afterwards."""
    return socket_in(make_folder(connection_file), "debug")


def remove(connection_file):
    """Removes the folder that prepare() made; the app removes its own."""
    if os.path.basename(connection_file) != APP_FILE:
        private_folder.remove(folder_of(connection_file), FILES)


def own_private_folder(folder):
    """Whether it is, or now became, a folder of the user's that no other user can enter."""
    return private_folder.is_private(folder, make=True)


def _absolute(variable):
    path = os.environ.get(variable, "")
    return os.path.normpath(path) if os.path.isabs(path) else ""


def _cache_folder():
    """Of the user's cache directory; empty where there is none."""
    cache, home = _absolute("XDG_CACHE_HOME"), _absolute("HOME")
    return os.path.join(cache, "tapedeck") if cache else os.path.join(home, ".cache", "tapedeck") if home else ""

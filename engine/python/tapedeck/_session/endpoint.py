"""Where the debug server of a session listens. The app follows the same rule (app/kernel/jupyter/connection.h).

A connection file that the app wrote is named connection.json and has a folder of its own: there the socket is `debug`.
Jupyter keeps the files of all its kernels in one folder, named kernel-ID.json: for those the socket is `debug` in
`tapedeck/ID` of the user's runtime folder, so that a program that knows the kernel's id can find it.
"""

import os
import shutil
import stat
import tempfile

APP_FILE = "connection.json"
LONGEST_PATH = 107  # bytes of a Unix socket's path


def base_folders():
    """Where the user's private folder for sessions' sockets may be, the best place first."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = [os.path.join(runtime, "tapedeck")] if os.path.isabs(runtime) else []
    name = f"tapedeck-{os.geteuid()}"
    candidates += [os.path.join(tempfile.gettempdir(), name), os.path.join("/tmp", name)]
    return list(dict.fromkeys(candidates))


def base_folder():
    """The user's private folder for sessions' sockets: the same that the app takes."""
    candidates = base_folders()
    for folder in candidates:
        if own_private_folder(folder):
            return folder
    raise OSError(f"no folder for the debug server's socket can be made: tried {', '.join(candidates)}")


def folder_of(connection_file):
    folder, name = os.path.split(os.path.abspath(connection_file))
    if name == APP_FILE:
        return folder
    return os.path.join(base_folder(), os.path.splitext(name)[0].removeprefix("kernel-"))


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
        shutil.rmtree(folder_of(connection_file), ignore_errors=True)


def is_private_folder(folder):
    """Whether it is a folder of the user's that nobody else can enter, and no link to one."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077


def own_private_folder(folder):
    """Whether it is, or now became, a folder of the user's that nobody else can enter."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(folder, 0o700)
    return True

"""Lets the window look into a program that runs by itself: `TAPEDECK_DEBUG=1 python3 program.py`.

The debug server starts when tapedeck is imported; it records nothing until a window attaches. How to reach it is written to
`programs/PID-STARTED/program.json` of the user's private runtime folder (endpoint.py; the app reads it in
app/kernel/debug/program_list.h). STARTED is the process's start in clock ticks since the machine's, which tells it from a later process
with the same number.
"""

import atexit
import json
import os
import re
import secrets
import sys
import time

from tapedeck._engine import debug
from tapedeck._session import endpoint as session_endpoint, private_folder, torch_programs

SWITCH = "TAPEDECK_DEBUG"
FILE = "program.json"
FRESH = FILE + ".new"  # while it is written
FILES = (FILE, FRESH, "debug")  # all that an entry has

_entry = None  # of this process; a forked child has its parent's, which it must leave alone


class Entry:
    def __init__(self, folder):
        self.process = os.getpid()
        self.folder = folder
        self.started = time.time()
        self.key = secrets.token_hex(32)
        self.endpoint = session_endpoint.socket_in(folder, "debug")

    def write(self, file, arguments):
        """`file`: of the program's code; empty where it has none (python3 -c)."""
        contents = {
            "pid": self.process,
            "started_ticks": started_ticks(self.process),
            "started": self.started,
            "file": file,
            "program": arguments,
            "folder": _working_folder(),
            "endpoint": self.endpoint,
            "key": self.key,
            "protocol_version": debug.PROTOCOL_VERSION,
        }
        path = os.path.join(self.folder, FILE)
        fresh = os.path.join(self.folder, FRESH)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as output:
            json.dump(contents, output)
        os.replace(fresh, path)  # so a reader sees all of it
        debug.begin_cell(file or arguments[0] or "program", "")


def start():
    """Starts the server of this program. Errors are printed to stderr: the program runs on without it."""
    global _entry
    if _entry is not None:
        return
    folder = None
    try:
        remove_stale()
        folder = _new_folder()
        entry = Entry(folder)
        debug.start(entry.endpoint, entry.key.encode(), while_attended=True)
        _entry = entry
        from tapedeck._session.frames import session  # 14 ms, which only a program that can be attached to needs
        session.files_are_cells = True
        entry.write(*_program())
        torch_programs.install()
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"tapedeck: no window can attach to this program ({SWITCH}=1): {error}", file=sys.stderr)
        _entry = None
        if folder is not None:
            private_folder.remove(folder, FILES)
        return
    atexit.register(stop)


def stop():
    """Ends the server; attached windows see that it ended. Does nothing in a forked child."""
    global _entry
    entry, _entry = _entry, None
    if entry is None or entry.process != os.getpid():
        return
    private_folder.remove(entry.folder, FILES)
    debug.stop()


def tell_program(file, arguments):
    """The process runs this program from here on: it began as one that runs others."""
    if _entry is not None and _entry.process == os.getpid():
        _entry.write(os.path.abspath(file), list(arguments))


def programs_folders():
    """Where entries of the user's programs may be, whatever their environment was."""
    return [os.path.join(base, "programs") for base in session_endpoint.base_folders()]


def remove_stale():
    """Removes the entries of processes that are gone: of what is the user's alone at every level, and of that the three files alone."""
    for base in session_endpoint.base_folders():
        with private_folder.opened(base) as runtime:
            if runtime is None:
                continue
            with private_folder.inside(runtime, "programs") as programs:
                for name in os.listdir(programs) if programs is not None else ():
                    process = re.fullmatch("([1-9][0-9]{0,18})-(0|[1-9][0-9]{0,18})", name)
                    if process and started_ticks(int(process[1])) != int(process[2]):
                        private_folder.remove_inside(programs, name, FILES)


def started_ticks(process):
    """When a process started, in clock ticks since the machine did; None where there is no such process, or it has ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()  # the name before it may hold anything
        return None if fields[0] in "ZX" else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def _new_folder():
    process = os.getpid()
    name = f"{process}-{started_ticks(process)}"
    tried = []
    for programs in programs_folders():
        folder = os.path.join(programs, name)
        tried.append(folder)
        fits = len(os.fsencode(os.path.join(folder, "debug"))) <= session_endpoint.LONGEST_PATH
        if (fits and session_endpoint.own_base_folder(os.path.dirname(programs))
                and all(session_endpoint.own_private_folder(one) for one in (programs, folder))):
            return folder
    raise OSError(f"no folder for the debug server's socket can be made: tried {', '.join(tried)}")


def _program():
    """(the file of the program's code, its command line)."""
    file = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    arguments = list(getattr(sys, "argv", None) or [""])
    return os.path.abspath(file) if file else "", arguments


def _working_folder():
    try:
        return os.getcwd()
    except OSError:
        return ""

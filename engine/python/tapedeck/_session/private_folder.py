"""Folders that belong to the user alone, held by descriptors: what is checked is what is used, even if other processes rename or link files
meanwhile.

app/kernel/process/private_folder.h has the same rules.
"""

import contextlib
import os
import stat

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextlib.contextmanager
def opened(path, make=False):
    """A descriptor of the folder, for the time of a with block; None where it is a link, another user's, open to others, or in a folder
    where others could exchange it.

    `make`: it is made where it is missing, and closed to others where they could enter it.
    """
    parent, name = os.path.split(os.path.abspath(path))
    try:
        around = os.open(parent, _FLAGS)
    except OSError:
        yield None
        return
    try:
        if _keeps_entries(os.fstat(around)):
            with inside(around, name, make) as folder:
                yield folder
        else:
            yield None
    finally:
        os.close(around)


@contextlib.contextmanager
def inside(around, name, make=False):
    """The same of the folder `name` in the folder with the descriptor `around`."""
    descriptor = _open(around, name, make)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def is_private(path, make=False):
    """Whether the folder is the user's alone; with `make`, whether it now became so."""
    with opened(path, make) as folder:
        return folder is not None


def remove(path, files):
    """Removes these files of a private folder, and then the folder, which stays where anything else is in it."""
    with opened(os.path.dirname(path)) as around:
        if around is not None:
            remove_inside(around, os.path.basename(path), files)


def remove_inside(around, name, files):
    """The same of the folder `name` in the folder with the descriptor `around`."""
    with inside(around, name) as folder:
        if folder is None:
            return
        for file in files:
            with contextlib.suppress(OSError):
                os.unlink(file, dir_fd=folder)
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=around)


def _open(around, name, make):
    try:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=around)
        descriptor = os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=around)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        private = status.st_uid == os.geteuid()
        if private and stat.S_IMODE(status.st_mode) & 0o077:
            private = make
            if make:
                os.fchmod(descriptor, 0o700)
    except OSError:
        private = False
    if not private:
        os.close(descriptor)
        return None
    return descriptor


def _keeps_entries(folder):
    """Others can neither rename nor replace what the user has there."""
    trusted = folder.st_uid in (0, os.geteuid())
    writable = folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return trusted and (not writable or bool(folder.st_mode & stat.S_ISVTX))

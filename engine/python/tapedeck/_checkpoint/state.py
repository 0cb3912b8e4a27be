"""The file "checkpoint" of a folder, which says what the latest checkpoint is: a protocol buffer as text, as TensorFlow has it."""
import os
import re
import time

from tapedeck import _engine
from tapedeck._checkpoint.files import file_path, path_text
from tapedeck._core.public import public

_STRINGS = ("model_checkpoint_path", "all_model_checkpoint_paths")
_NUMBERS = ("all_model_checkpoint_timestamps", "last_preserved_timestamp")
_REPEATED = ("all_model_checkpoint_paths", "all_model_checkpoint_timestamps")
_LINE = re.compile(r"""\s*(\w+)\s*:\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[-+.\w]+)\s*[,;]?[^\S\n]*(?:\#[^\n]*)?""")
_ESCAPES = {"n": 10, "r": 13, "t": 9, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8, "f": 12, "v": 11, "?": 63}


@public("train.CheckpointState")
class CheckpointState:
    """The contents of the file "checkpoint".

    model_checkpoint_path: the latest checkpoint; all_model_checkpoint_paths: those that are not deleted, the oldest first;
    all_model_checkpoint_timestamps: when they were written, seconds since 1970; last_preserved_timestamp: of the newest one that is
    kept for good.
    """

    def __init__(self, model_checkpoint_path="", all_model_checkpoint_paths=(), all_model_checkpoint_timestamps=(),
                 last_preserved_timestamp=0.0):
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = list(all_model_checkpoint_paths)
        self.all_model_checkpoint_timestamps = list(all_model_checkpoint_timestamps)
        self.last_preserved_timestamp = last_preserved_timestamp

    def __str__(self):
        lines = [f"model_checkpoint_path: {_quoted(self.model_checkpoint_path)}"]
        lines += [f"all_model_checkpoint_paths: {_quoted(path)}" for path in self.all_model_checkpoint_paths]
        lines += [f"all_model_checkpoint_timestamps: {time!r}" for time in self.all_model_checkpoint_timestamps]
        if self.last_preserved_timestamp:
            lines.append(f"last_preserved_timestamp: {self.last_preserved_timestamp!r}")
        return "\n".join(lines) + "\n"

    __repr__ = __str__


def _quoted(text):
    plain = {'"': '\\"', "\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(plain.get(letter) or (letter if letter.isprintable() else _octal(letter)) for letter in text) + '"'


def _octal(letter):
    """Its bytes; a path may have some that are not UTF-8."""
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(letter))


def _unquoted(text):
    def byte(match):
        code = match[1].decode()
        if code[0] in "01234567":
            return bytes([int(code, 8) & 255])
        return bytes([int(code[1:], 16) if code[0] in "xX" else _ESCAPES[code]])

    return os.fsdecode(re.sub(rb"""\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|[nrt\\'"abfv?])""", byte, os.fsencode(text[1:-1])))


def _parse(text):
    """A CheckpointState. ValueError for any other value."""
    found, place = CheckpointState(), 0
    text = text.rstrip()
    while place < len(text):
        match = _LINE.match(text, place)
        if not match or match[1] not in _STRINGS + _NUMBERS:
            raise ValueError(f"byte {place} begins no field of a checkpoint state: {text[place:place + 40]!r}")
        name, value = match[1], match[2]
        if (value[0] in "\"'") != (name in _STRINGS):
            raise ValueError(f"{name} is {value[:40]}")
        value = _unquoted(value) if name in _STRINGS else float(value)
        if name in _REPEATED:
            getattr(found, name).append(value)
        else:
            setattr(found, name, value)
        place = match.end()
    return found


def _state_file(folder, latest_filename):
    return os.path.join(path_text(folder), latest_filename or "checkpoint")


@public("train.update_checkpoint_state")
def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
                            all_model_checkpoint_timestamps=None, last_preserved_timestamp=None, relative=False):
    """Writes the file "checkpoint" of a folder.

    save_dir: the folder; model_checkpoint_path: the latest checkpoint, which comes last in all_model_checkpoint_paths; the other
    arguments are CheckpointState's. latest_filename: another name than "checkpoint". relative: paths are written as seen from
    the folder, so that it may be moved; otherwise only where it is not an absolute path itself.
    Errors: ValueError for another number of timestamps than of paths; RuntimeError where a checkpoint has the file's name.
    """
    save_dir = path_text(save_dir)
    paths = list(all_model_checkpoint_paths or ())
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(paths):
        raise ValueError(f"Checkpoint timestamps, if provided, must match checkpoint paths (got paths {paths} and timestamps "
                         f"{times})")
    place = _state_file(save_dir, latest_filename)

    def seen(path):
        if os.path.isabs(path):
            return os.path.relpath(path, save_dir) if relative else path
        return path if os.path.isabs(save_dir) else os.path.relpath(path, save_dir or ".")

    written = CheckpointState(seen(model_checkpoint_path), map(seen, paths), times, last_preserved_timestamp or 0.0)
    if place in (written.model_checkpoint_path, model_checkpoint_path):
        raise RuntimeError(f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state. Please use a "
                           "different save path.")
    _engine.write_whole_file(place, str(written).encode())


@public("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """The CheckpointState of a folder, its paths with the folder in front of them; None where there is none, with a warning where
    the file cannot be read.

    Errors: ValueError where the file names no checkpoint.
    """
    folder = path_text(checkpoint_dir)
    place = _state_file(folder, latest_filename)
    try:
        with open(place, encoding="utf-8", errors="surrogateescape") as file:
            found = _parse(file.read(1 << 24))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        import logging  # 5 ms, which only a warning needs
        logging.getLogger("tapedeck").warning("%s: %s: checkpoint ignored", place, error)
        return None
    if not found.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}: it names no model_checkpoint_path")
    found.model_checkpoint_path = os.path.join(folder, found.model_checkpoint_path)
    found.all_model_checkpoint_paths = [os.path.join(folder, path) for path in found.all_model_checkpoint_paths]
    return found


@public("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The path of the latest checkpoint in a folder, what restore takes; None where there is none."""
    found = get_checkpoint_state(checkpoint_dir, latest_filename)
    if found is not None and found.model_checkpoint_path:
        if checkpoint_exists(found.model_checkpoint_path):
            return found.model_checkpoint_path
        import logging  # 5 ms, which only a warning needs
        logging.getLogger("tapedeck").warning("Couldn't match files for checkpoint %s", found.model_checkpoint_path)
    return None


@public("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix):
    """Whether there is a checkpoint of that path, with ".safetensors" or without."""
    return os.path.isfile(file_path(checkpoint_prefix))


@public("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes):
    """When each of the checkpoints was written, seconds since 1970; those that are not there are left out."""
    return [os.path.getmtime(file_path(path)) for path in checkpoint_prefixes if checkpoint_exists(path)]


@public("train.remove_checkpoint")
def remove_checkpoint(checkpoint_prefix):
    """Deletes a checkpoint's file, where there is one."""
    try:
        os.remove(file_path(checkpoint_prefix))
    except FileNotFoundError:
        pass


@public("train.checkpoints_iterator")
def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """The path of the latest checkpoint in a folder each time there is a new one, as another program trains: a generator.

    min_interval_secs: the least time between two; timeout: after how many seconds without a new one timeout_fn is called, which
    returns whether to end (without one it ends); None: never.
    """
    last = None
    while True:
        begun, found = time.monotonic(), latest_checkpoint(checkpoint_dir)
        while found is None or found == last:
            if timeout is not None and time.monotonic() - begun >= timeout:
                if timeout_fn is None or timeout_fn():
                    return
                begun = time.monotonic()
            time.sleep(1. if timeout is None else min(1., max(.01, timeout)))
            found = latest_checkpoint(checkpoint_dir)
        last, given = found, time.monotonic()
        yield found
        time.sleep(max(0., min_interval_secs - (time.monotonic() - given)))

"""Runs cells of notebooks, each notebook with names of its own: JSON of {notebook: {cell: source}} on standard input, and of {notebook:
{cell: [what it printed, the exception that it raised or None]}} on standard output. After an exception the next cell runs."""
import contextlib
import io
import json
import sys

results = {}
for notebook, cells in json.load(sys.stdin).items():
    names = {"__name__": "__main__"}
    results[notebook] = {}
    for cell, source in cells.items():
        printed, error = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(source, cell, "exec"), names)
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
        results[notebook][cell] = [printed.getvalue(), error]
print(json.dumps(results))

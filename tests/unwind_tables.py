"""Checks that no entry of a binary's frame tables is empty: an exception that meets one finds no handler.

usage: unwind_tables.py BINARY…
"""
import re
import subprocess
import sys

frame = re.compile(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)")
failed = False
for binary in sys.argv[1:]:
    text = subprocess.run(["readelf", "--debug-dump=frames", binary], check=True, capture_output=True, text=True).stdout
    ranges = [match.groups() for match in map(frame.search, text.splitlines()) if match]
    empty = [start for start, end in ranges if start == end]
    print(f"{binary}: {len(ranges)} functions, {len(empty)} of them empty {empty[:8]}")
    failed = failed or not ranges or bool(empty)
sys.exit(failed)

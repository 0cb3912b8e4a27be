"""Programs of TensorFlow in processes of their own."""
import os
import subprocess
import sys
import tempfile
import textwrap


def started(program, *arguments, **files):
    """The program in a process of its own; files: others beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        for name, text in {**files, "program": program}.items():
            with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(text))
        return subprocess.run([sys.executable, "-B", "-m", "tapedeck", "--as-tensorflow", path, *arguments],
                              capture_output=True, text=True, timeout=200, check=False)

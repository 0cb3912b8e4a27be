"""The kernelspec with which Jupyter starts Tapedeck sessions."""

import argparse
import json
import os
import sys
import tempfile

DISPLAY_NAME = "Tapedeck (Python)"


def kernelspec(interpreter, modules):
    """The contents of kernel.json. `modules`: the folder that holds the package `tapedeck`."""
    return {
        "argv": [interpreter, os.path.join(modules, "tapedeck", "session.py"), "-f", "{connection_file}"],
        "display_name": DISPLAY_NAME,
        "language": "python",
        "interrupt_mode": "signal",
        "env": {"PYTHONPATH": modules},
        "metadata": {"debugger": False},
    }


def install(prefix=None):
    """Writes the kernelspec for this interpreter and package; returns its folder."""
    from jupyter_client.kernelspec import KernelSpecManager  # 0.1 s, which only an installation needs
    modules = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(kernelspec(sys.executable, modules), file, indent=1)
            file.write("\n")
        os.chmod(folder, 0o755)
        return KernelSpecManager().install_kernel_spec(folder, "tapedeck", user=prefix is None, prefix=prefix)


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m tapedeck.session",
                                     description=f'Makes "{DISPLAY_NAME}" known to Jupyter.')
    parser.add_argument("--install-kernelspec", action="store_true", required=True)
    parser.add_argument("--prefix", help="install below this folder (share/jupyter/kernels); without it for the user")
    options = parser.parse_args(arguments)
    print(f'Installed "{DISPLAY_NAME}" in {install(options.prefix)}')

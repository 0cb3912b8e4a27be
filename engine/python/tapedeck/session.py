"""A notebook's session process: ipykernel with Tapedeck's debug server in it.

    python -m tapedeck.session -f CONNECTION.json          what the app and Jupyter start
    python -m tapedeck.session --install-kernelspec        makes "Tapedeck (Python)" known to Jupyter
           [--prefix FOLDER]                               (for the user, or below FOLDER)
"""

import gc
import os
import sys

NO_IPYKERNEL = ("No module named 'ipykernel' in {interpreter}: Debian's package is python3-ipykernel "
                "(sudo apt-get install python3-ipykernel).")


def main(arguments=None):
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if "--install-kernelspec" in arguments:
        from tapedeck._session import kernelspec as session_kernelspec  # 20 ms, which only this option needs
        return session_kernelspec.main(arguments)
    # The notebook's folder stands first while Python starts with -m: a random.py in it must not replace Python's own.
    # IPython puts it back for the cells.
    if sys.path and sys.path[0] == working_folder():
        del sys.path[0]
    gc.disable()  # a start makes no garbage worth looking for; SessionApp.initialize enables it
    # ipykernel would import a debugger that the kernelspec does not offer: a quarter of the start. Cells may import it.
    sys.modules.setdefault("debugpy", None)
    try:
        import ipykernel  # noqa: F401  # half a second; after sys.path is set
    except ModuleNotFoundError as error:
        if error.name != "ipykernel":
            raise
        sys.exit(NO_IPYKERNEL.format(interpreter=sys.executable))
    from tapedeck._session.app import SessionApp  # imports ipykernel
    if sys.modules["debugpy"] is None:
        del sys.modules["debugpy"]
    SessionApp.launch_instance(arguments)


def working_folder():
    try:
        return os.getcwd()
    except OSError:
        return None


if __name__ == "__main__":
    main()

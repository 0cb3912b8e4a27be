"""A notebook's session process: ipykernel with Tapedeck's debug server in it.

    python …/tapedeck/session.py -f CONNECTION.json        what the app and Jupyter start
    python -m tapedeck.session --install-kernelspec        makes "Tapedeck (Python)" known to Jupyter
           [--prefix FOLDER]                               (for the user, or below FOLDER)

By its path, not with -m: that would look for the package in the notebook's folder first. The folder is untrusted: a numpy.py or
tapedeck.py in it must not run because a session starts there.
"""
# These three are in every interpreter before the first line here. Whatever else is imported comes after keep_out_of_path().

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
    keep_out_of_path()  # SessionApp.init_path puts the notebook's folder back for the cells, after everything
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


def keep_out_of_path():
    """Takes the notebook's folder out of sys.path, where -m, -c and PYTHONPATH put it in front of Python's own modules, and this
    file's, whose neighbours are named like some of these."""
    library = os.path.dirname(os.__file__)
    front = sys.path.index(library) if library in sys.path else len(sys.path)
    unwanted = {os.path.dirname(os.path.realpath(__file__))}
    here = working_folder()
    if here is not None:
        unwanted.add(os.path.realpath(here))
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:front] = [folder for folder in sys.path[:front]
                        if folder == package or folder and os.path.realpath(folder) not in unwanted]


if __name__ == "__main__":
    keep_out_of_path()
    main()

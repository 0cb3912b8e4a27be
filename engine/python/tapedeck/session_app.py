"""ipykernel's program, with the debug server started in it and told of each cell."""

import atexit
import faulthandler
import os

from ipykernel.kernelapp import IPKernelApp

from tapedeck import session_endpoint
from tapedeck.session_cells import CellWatch


def debug_module():
    """The engine's debug server; None where the engine is built without it: cells run all the same."""
    try:
        from tapedeck._engine import debug
    except ImportError:
        return None
    return debug


class SessionApp(IPKernelApp):
    name = "tapedeck-session"

    def initialize(self, argv=None):
        # ipykernel points descriptor 2 at the notebook; the app reads the original to say where a crash was.
        self._crash_output = os.fdopen(os.dup(2), "w")
        faulthandler.enable(self._crash_output)
        mask = os.umask(0o077)  # for the sockets; the user's own files get the user's mask
        try:
            super().initialize(argv)
        finally:
            os.umask(mask)

    def init_shell(self):
        super().init_shell()
        formats = os.environ.get("TAPEDECK_FIGURE_FORMATS")
        if formats:  # before matplotlib is imported; `%config InlineBackend.figure_formats` changes it later
            names = {name.strip() for name in formats.split(",") if name.strip()}
            self.shell.config.InlineBackend.figure_formats = names
        debug = debug_module()
        if debug is None:
            return
        try:
            endpoint = session_endpoint.prepare(self.abs_connection_file)
            debug.start(endpoint, bytes(self.session.key))
        except Exception as error:
            self.log.error("The debug server did not start, so this session can not be inspected: %s", error)
            return
        atexit.register(session_endpoint.remove, self.abs_connection_file)
        from tapedeck import summary
        CellWatch(self.shell, debug, summary.take_written).attach()

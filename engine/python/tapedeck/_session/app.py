"""ipykernel's program, with the debug server started in it and notified of each cell."""

import atexit
import ctypes
import faulthandler
import gc
import os
import sys
import time

import zmq
from ipykernel import kernelapp
from ipykernel.ipkernel import IPythonKernel
from traitlets import Dict

from tapedeck._engine import debug
from tapedeck._session import as_tensorflow, attachable, completion, endpoint as session_endpoint, torch_programs
from tapedeck._session.cells import CellWatch
from tapedeck._session.first_traceback import FirstTraceback
from tapedeck._session.hidden_modules import HiddenModules
from tapedeck._session.pipe import PrivateIOPubThread
from tapedeck.summary import curves


CONNECTED_WITHIN = 10  # seconds
LONGEST_MESSAGE = 1 << 30  # bytes: the window's limit too (engine/protocol/limits.h); it refuses to send longer ones, and says so


def _dies_with_parent():
    """Whether the system ends this process with the one that started it, as the window has it: prctl(PR_GET_PDEATHSIG)."""
    signal_number = ctypes.c_int(0)
    get_parent_death_signal = 2
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return prctl is not None and prctl(get_parent_death_signal, ctypes.byref(signal_number)) == 0 and signal_number.value != 0


def _is_not_about_debugpy(record):
    """A logging filter: ipykernel warns that it starts without its debugger."""
    return "debugpy" not in record.getMessage()


class SessionKernel(IPythonKernel):
    """Says in its kernel_info_reply whether the debug server runs: {"debug": True}, or {"error": why not}."""

    tapedeck = Dict()

    @property
    def kernel_info(self):
        return {**super().kernel_info, "tapedeck": self.tapedeck}

    _count = None

    def _publish_execute_input(self, code, parent, execution_count):
        self._count = execution_count
        super()._publish_execute_input(code, parent, execution_count)

    def take_count(self):
        """Once: the number of the cell that begins, as the notebook was sent it. IPython counts on before its events of the cell from
        version 9 on, and after the cell before that."""
        count, self._count = self._count, None
        return count

    def start(self):
        self.log.addFilter(_is_not_about_debugpy)
        super().start()
        self.log.removeFilter(_is_not_about_debugpy)

    def _input_request(self, prompt, ident, parent, password=False):
        """Asks; again, as long as the client that ran the cell has not connected its socket for answers. ZeroMQ would drop the
        question, and the cell wait for good. EOFError after CONNECTED_WITHIN seconds."""
        until = time.monotonic() + CONNECTED_WITHIN
        while True:
            try:
                return super()._input_request(prompt, ident, parent, password)
            except zmq.ZMQError as error:
                if error.errno != zmq.EHOSTUNREACH:
                    raise
                if time.monotonic() > until:
                    raise EOFError("No frontend is connected to answer input().") from None
                time.sleep(0.02)


class SessionApp(kernelapp.IPKernelApp):
    name = "tapedeck-session"
    kernel_class = SessionKernel

    def initialize(self, argv=None):
        # ipykernel points descriptor 2 at the notebook; the app reads the original to say where a crash was.
        self._crash_output = os.fdopen(os.dup(2), "w")
        faulthandler.enable(self._crash_output)
        mask = os.umask(0o077)  # for the sockets; the user's own files get the user's mask
        try:
            super().initialize(argv)
        finally:
            os.umask(mask)
        # What the start made lives as long as the process. Collections, the last one at the end above all, pass it over.
        gc.freeze()
        gc.enable()

    def init_poller(self):
        """Jupyter's servers leave it to the kernel to see that they are gone, and ipykernel looks once a second."""
        if not _dies_with_parent():
            super().init_poller()

    def _bind_socket(self, socket, port):
        socket.setsockopt(zmq.MAXMSGSIZE, LONGEST_MESSAGE)
        socket.context.setsockopt(zmq.MAXMSGSIZE, LONGEST_MESSAGE)  # of those to come: what forks print
        return super()._bind_socket(socket, port)

    def _know_program(self, path):
        """Cells of a program's file run as in the program; those of a notebook find Tapedeck under TensorFlow's name where TensorFlow
        itself is not installed."""
        as_tensorflow.install(first=bool(path))
        if path:
            as_tensorflow.begin_as_program(path)
            sys.argv = [path]
            self.shell.user_ns["__file__"] = path
            self.shell.user_ns_hidden["__file__"] = path

    def init_path(self):
        """Lets cells import modules from the notebook's folder (the current one, as it changes). It comes last: what Python, the
        session and the packages that are installed import later, too, is never a file beside the notebook."""
        if "" not in sys.path and not self.ignore_cwd:
            sys.path.append("")

    def init_iopub(self, context):
        # ipykernel's own thread listens on a TCP port for what forked processes print.
        folder = session_endpoint.make_folder(self.abs_connection_file)
        atexit.register(session_endpoint.remove, self.abs_connection_file)
        original = kernelapp.IOPubThread
        kernelapp.IOPubThread = lambda socket, **options: PrivateIOPubThread(socket, folder, **options)
        try:
            super().init_iopub(context)
        finally:
            kernelapp.IOPubThread = original

    def init_shell(self):
        super().init_shell()
        completion.forgive_damaged_files()
        self.stdin_socket.setsockopt(zmq.ROUTER_MANDATORY, 1)  # see SessionKernel._input_request
        formats = os.environ.get("TAPEDECK_FIGURE_FORMATS")
        if formats:  # before matplotlib is imported; `%config InlineBackend.figure_formats` changes it later
            names = {name.strip() for name in formats.split(",") if name.strip()}
            self.shell.config.InlineBackend.figure_formats = names
        self._know_program(os.environ.get("TAPEDECK_PROGRAM"))
        HiddenModules(self.shell).attach()
        attachable.stop()  # the session has a server of its own
        try:
            endpoint = session_endpoint.prepare(self.abs_connection_file)
            debug.start(endpoint, bytes(self.session.key))
        except Exception as error:
            self.log.error("The debug server did not start, so this session cannot be inspected: %s", error)
            self.kernel.tapedeck = {"error": str(error)}
            return
        debug.end_with_gpu(self._crash_output.fileno())
        torch_programs.install()
        self.kernel.tapedeck = {"debug": True}
        CellWatch(self.shell, debug, curves.take_written).attach()
        FirstTraceback(self.shell)

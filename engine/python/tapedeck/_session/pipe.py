"""ipykernel's thread that publishes outputs, without its TCP port."""

import os
import warnings

import zmq
from ipykernel.iostream import IOPubThread
from zmq.eventloop.zmqstream import ZMQStream

from tapedeck._session import endpoint as session_endpoint

SOCKET = "forks"


class PrivateIOPubThread(IOPubThread):
    """What processes print that a cell forked comes over a socket in the session's private folder.

    ipykernel takes a random port of 127.0.0.1 for it, where every user of the machine can connect.
    """

    def __init__(self, socket, folder, **options):
        """options: of IOPubThread; ipykernel 7 has more of them than 6."""
        self._folder = folder
        super().__init__(socket, **options)

    def _setup_pipe_in(self):
        self._pipe_uuid = os.urandom(16)
        pipe_in = self.socket.context.socket(zmq.PULL)
        pipe_in.linger = 0
        try:
            self._forks_endpoint = session_endpoint.socket_in(self._folder, SOCKET)
            pipe_in.bind(self._forks_endpoint)
        except (OSError, zmq.ZMQError) as error:
            warnings.warn(f"What forked processes print will not be shown: {error}", stacklevel=1)
            self._pipe_flag = False
            pipe_in.close()
            return
        self._pipe_in = ZMQStream(pipe_in, self.io_loop)
        self._pipe_in.on_recv(self._handle_pipe_msg)

    def _setup_pipe_out(self):
        context = zmq.Context()  # the parent's is of no use after a fork
        pipe_out = context.socket(zmq.PUSH)
        pipe_out.linger = 3000
        pipe_out.connect(self._forks_endpoint)
        return context, pipe_out

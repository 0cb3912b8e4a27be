"""A session that asks before anybody listens: the question is not lost."""
import os
import subprocess
import sys
import tempfile
import unittest

try:
    from jupyter_client import BlockingKernelClient
    from jupyter_client.connect import write_connection_file
except ImportError:
    raise unittest.SkipTest("needs jupyter_client (Debian's package python3-jupyter-client)") from None

PATIENCE = 120  # seconds: a bound for a hang, not a measurement


class Questions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "kernel-question.json")
        write_connection_file(path, transport="ipc", ip=os.path.join(folder.name, "k"))
        self.process = subprocess.Popen([sys.executable, "-m", "tapedeck.session", "-f", path], stdout=subprocess.DEVNULL,
                                        env={**os.environ, "IPYTHONDIR": os.path.join(folder.name, "ipython")})
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.client = BlockingKernelClient(connection_file=path)
        self.client.load_connection_file()
        # Without the heartbeat: after one second of silence that would call a process dead which a busy machine has not yet let start.
        self.client.start_channels(stdin=False, hb=False)
        self.addCleanup(self.client.stop_channels)
        self.client.wait_for_ready(PATIENCE)

    def printed(self, text):
        """Waits until the cell has printed it."""
        while True:
            message = self.client.get_iopub_msg(PATIENCE)
            if message["msg_type"] == "stream" and text in message["content"]["text"]:
                return

    def test_the_question_waits_for_the_socket(self):
        cell = self.client.execute("print('asking', flush=True)\nprint('heard', input('Name: '), flush=True)", allow_stdin=True)
        self.printed("asking")
        self.client.stdin_channel.start()
        question = self.client.get_stdin_msg(PATIENCE)
        self.assertEqual((question["msg_type"], question["content"]["prompt"]), ("input_request", "Name: "))
        self.client.input("Ada")
        self.printed("heard Ada")
        reply = self.client.get_shell_msg(PATIENCE)
        while reply["parent_header"]["msg_id"] != cell:  # a late answer to the client that asked whether the session is ready
            reply = self.client.get_shell_msg(PATIENCE)
        self.assertEqual((reply["msg_type"], reply["content"]["status"]), ("execute_reply", "ok"))

    def test_without_anybody_the_cell_ends(self):
        self.client.execute("from tapedeck._session import app as session_app\nsession_app.CONNECTED_WITHIN = 0.1\n"
                            "try:\n    input('Name: ')\nexcept EOFError as error:\n    print(error)", allow_stdin=True)
        self.printed("No frontend is connected to answer input().")


if __name__ == "__main__":
    unittest.main()

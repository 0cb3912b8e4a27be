"""Exceptions of PyTorch and of programs pass through a recorder unchanged: type, message, and each line of the traceback."""
import json
import subprocess
import textwrap
import traceback
import unittest

from torch_interpreter import TORCH, environment, main, needs_module

CASES = {
    "out of memory": "torch.empty(10**15)",
    "shapes": "torch.ones(2, 3) @ torch.ones(4, 5)",
    "in place": """
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.sum().backward()""",
    "twice": """
        y = torch.ones(3, requires_grad=True).exp().sum()
        y.backward()
        y.backward()""",
    "no gradient": "torch.ones(3).sum().backward()",
    "numpy of a variable": "torch.ones(3, requires_grad=True).numpy()",
    "backward of a Function": """
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                raise ValueError(f"no gradient of shape {tuple(g.shape)}")
        Wrong.apply(torch.ones(3, requires_grad=True)).sum().backward()""",
    "Function that returns too much": """
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g, g
        Wrong.apply(torch.ones(3, requires_grad=True)).sum().backward()""",
    "hook": """
        def hook(gradient):
            raise KeyError("hook")
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(hook)
        torch.autograd.grad(y.sum(), x)""",
    "hook that interrupts": """
        def hook(gradient):
            raise KeyboardInterrupt
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(hook)
        y.sum().backward()""",
    "chain": """
        try:
            torch.ones(3, requires_grad=True).numpy()
        except RuntimeError as error:
            raise TypeError("of another kind") from error""",
    "thread": """
        import threading
        def work():
            torch.ones(2) @ torch.ones(3)
        said = []
        threading.excepthook = lambda given: said.append(given.exc_value)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise said[0]""",
}

RUNNER = """
import json, sys, traceback
import torch
torch.set_num_threads(1)
if sys.argv[1] == "recorded":
    from tapedeck import _engine
    from tapedeck._session import torch_programs
    _engine.debug.attach(files_are_cells=True)
    torch_programs.install()
said = {}
for name, program in json.load(sys.stdin).items():
    try:
        exec(compile(program, name, "exec"), {"torch": torch})
    except BaseException as error:
        said[name] = [type(error).__module__, type(error).__name__, str(error), traceback.format_exc()]
if sys.argv[1] == "recorded":
    said["errors"] = [one["error"] for one in json.loads(_engine.debug.records_json()) if one.get("error")]
print(json.dumps(said))
"""


@needs_module
class Exceptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        programs = json.dumps({name: textwrap.dedent(program).strip() for name, program in CASES.items()})
        cls.plain, cls.recorded = (
            json.loads(subprocess.run([TORCH, "-c", RUNNER, state], input=programs, capture_output=True, text=True, timeout=300, check=True,
                                      env=environment()).stdout)
            for state in ("plain", "recorded"))

    def test_each_program_fails(self):
        self.assertEqual(set(self.plain), set(CASES))

    def test_exceptions_are_those_of_the_plain_program(self):
        for name in CASES:
            with self.subTest(name):
                self.assertEqual(self.recorded[name], self.plain[name])

    def test_records_name_the_failure(self):
        failures = "\n".join(self.recorded["errors"])
        for text in ("ValueError: no gradient of shape (3,)", "you tried to allocate 4000000000000000 bytes", "KeyError: 'hook'"):
            self.assertIn(text, failures)


class Wrapper(unittest.TestCase):
    def test_it_is_called_and_bound_as_the_function_is(self):
        from tapedeck import _engine

        @_engine.torch.without_frames
        def one(self, *rest, by=1):
            """Its text."""
            return self, rest, by

        class Some:
            method = one

        some = Some()
        self.assertEqual(one(1, 2, by=3), (1, (2,), 3))
        self.assertEqual(some.method(2), (some, (2,), 1))
        self.assertEqual((one.__name__, one.__doc__), ("one", "Its text."))
        one.mark = True
        self.assertTrue(one.mark)
        for wrong in (3, len, None):
            with self.assertRaises(TypeError):
                _engine.torch.without_frames(wrong)

    def test_frames_of_its_folder_alone_are_left_out(self):
        from tapedeck import _engine
        failing = {}
        exec(compile("def fails():\n    return 1 // 0\n", "/elsewhere/program.py", "exec"), failing)

        @_engine.torch.without_frames
        def outer():
            return inner()

        def inner():
            return failing["fails"]()

        names = []
        try:
            outer()
        except ZeroDivisionError as error:
            names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        # This one's own frame was added behind the wrapper.
        self.assertEqual(names, ["test_frames_of_its_folder_alone_are_left_out", "fails"])


if __name__ == "__main__":
    main()

"""Steps by lines through a backward pass: at the lines that the program itself runs, and not at those of the forward ops beside which
VJPs are shown."""
from recorded_programs import RecordedPrograms
from torch_interpreter import HERE, main

PROGRAM = '''class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        half = gradient * 1
        return half * 2
def tripled(gradient):
    return gradient * 3
w = torch.ones(3, requires_grad=True)
h = w + 1
h.register_hook(tripled)
y = Doubled.apply(h)
loss = y.square().mean()
loss.backward()
w.grad = None
z = w * 2
'''

STEPS = """
client = asking()
def stops(code, commands, line):
    "The places of the stops: at the breakpoint on that line, and after each command."
    at_line = dict(id=1, kind="line", cell="cell", line=line, target="", condition="", from_hit=1, enabled=True, once=False, action="stop",
                   text="")
    client.ask("set_breakpoints", labels=[], breakpoints=[at_line])
    def run():
        debug.begin_cell("cell", "CELL")
        exec(compile(code, "CELL", "exec"), {"torch": torch})
        debug.end_cell()
    program = threading.Thread(target=run)
    program.start()
    found, last = [], None
    def news(status):
        return status["gate"] == "stopped" and (status["stopped_before"], status["stopped_at_line"]) != last
    for command in [None, *commands]:
        if command:
            client.status = None
            client.ask("set_gate", command=command)
        status = client.wait_for(news)
        last = status["stopped_before"], status["stopped_at_line"]
        op = records(number=status["stopped_before"])[0] if status["stopped_before"] else None
        found.append((status["line"], op and (op["op"] if op["kind"] == "op" else f"{op['kind']} of {op['op']}")))
    client.ask("set_breakpoints", breakpoints=[], labels=[])
    client.ask("set_gate", command="run")
    program.join(60)
    assert not program.is_alive()
    return found
"""


class LineSteps(RecordedPrograms):
    modules = (HERE.parent / "python" / "helpers",)

    def test_they_stop_at_functions_hooks_and_the_next_statement(self):
        self.check(f"found = stops({PROGRAM!r}, ['step_line'] * 5, 16)\n"
                   "assert [line for line, _ in found] == [16, 7, 8, 10, 17, 18], found\n", STEPS)

    def test_they_may_begin_at_a_node(self):
        commands = ["step_op"] * 2 + ["step_line"] * 3 + ["step_op"] * 2 + ["step_line"]
        self.check(f"found = stops({PROGRAM!r}, {commands}, 16)\n"
                   "assert [line for line, _ in found] == [16, 16, 15, 7, 8, 10, 10, 12, 17], found\n"
                   "assert found[2][1] == 'vjp of aten.mean', found  # shown beside its forward op\n", STEPS)


if __name__ == "__main__":
    main()

"""Programs that ask *Why?* about themselves, in the interpreter that TAPEDECK_TORCH names."""
import textwrap

from recorded_programs import RecordedPrograms
from sample_cells import code_cells

# Of each program: why(question, tensor or record) asks, line_of(text) is the number of the line that has it.
PRELUDE = """
from torch.utils._python_dispatch import _disable_current_modes

def why(question, about=None, element=(), record=0):
    tensor = about if isinstance(about, int) else 0
    if isinstance(about, torch.Tensor):
        tensor = _engine.torch.known_id(about)
        assert tensor, "no record has this tensor"
    if isinstance(about, dict):
        record = about["number"]
    return debug.why(question, tensor, list(element), record)

def has(answer, *parts):
    assert answer.get("complete"), answer
    for part in parts:
        assert part in answer["sentence"], (part, answer)
    return answer

def lacks(answer, *parts):
    assert not answer.get("complete", True), answer
    for part in parts:
        assert part in answer["sentence"], (part, answer)
    return answer

def line_of(text):
    found = [number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line and "line_of" not in line]
    assert len(found) == 1, (text, found)
    return found[0]

def reason(answer, role):
    found = [one for one in answer["reasons"] if one["role"] == role]
    assert found, (role, answer)
    return found[0]

def refused(backward):
    try:
        backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error), error
        return why("gradient", records(kind="playback")[-1])
    raise AssertionError("it did not refuse")
"""


def with_prelude(program):
    """Its lines keep their numbers."""
    program = textwrap.dedent(program)
    first = f"exec({PRELUDE + f'SOURCE = {program!r}'!r})"
    assert program.startswith("\n")
    return first + program


def quiet(notebook):
    """Its first cell, which prints nothing: a program's output is its test's answer."""
    return code_cells(f"pytorch/{notebook}", {})["model"].replace("print(", "str(")


class WhyPrograms(RecordedPrograms):
    def check(self, program, before=""):
        super().check(with_prelude(program), before)

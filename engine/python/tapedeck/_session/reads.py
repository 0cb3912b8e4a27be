"""Which variables the statements that wait have read already: what an edit comes too late for."""
import ast
import dis
import linecache


def statement_of(frame):
    """(first line, last line) of the statement that the frame is in; the line alone where there is no source."""
    line = frame.f_lineno or 0
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return line, line
    best = line, line
    shortest = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= node.end_lineno:
            continue
        last = node.end_lineno
        body = getattr(node, "body", None)
        if body:  # of a loop or a definition only its head
            last = max(node.lineno, body[0].lineno - 1)
            if not node.lineno <= line <= last:
                continue
        if shortest is None or last - node.lineno <= shortest:
            best, shortest = (node.lineno, last), last - node.lineno
    return best


def has_read(frame, name):
    """Whether the statement that the frame is in read the variable before it came to where it waits."""
    first, last = statement_of(frame)
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset > frame.f_lasti:
            return False
        line = instruction.positions.lineno if instruction.positions else None
        if line is None or not first <= line <= last or not instruction.opname.startswith("LOAD_"):
            continue
        read = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
        if name in read and "ATTR" not in instruction.opname and "CONST" not in instruction.opname \
                and "METHOD" not in instruction.opname:
            return True
    return False


def readers(frames, index, name, is_global):
    """The frames, from the innermost on, whose statements have read the variable of frame `index` already."""
    owner = frames[index]
    found = []
    for place, frame in enumerate(frames):
        code = frame.f_code
        if is_global:
            sees = frame.f_globals is owner.f_globals and name not in code.co_varnames + code.co_cellvars + code.co_freevars
        else:
            sees = place == index or (place < index and name in code.co_freevars)
        if sees and has_read(frame, name):
            found.append(frame)
    return found

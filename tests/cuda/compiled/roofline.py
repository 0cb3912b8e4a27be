"""The bound of each streaming kernel on an H100 (SXM): what its op costs by the registry's rules, beside what the chip
can do."""
import subprocess

bandwidth = 3.35e12  # bytes a second
peak = {"float32": 67e12, "float64": 34e12}  # operations a second
#: Of products, by tensor cores but for float32, which is not rounded.
peak_of_products = {"float32": 67e12, "float64": 67e12, "float16": 989e12, "bfloat16": 989e12}
_types = {"float32": "float", "float64": "double"}

_rows, _count = 1000, 1000
_matrix = f"{_rows},{_count}"


def _calls(dtype):
    """(op, its call for op_costs, the kernel that does it) of the ops that one streaming kernel does."""
    x, truths = f"{dtype}:{_matrix}", f"bool:{_matrix}"
    number, row = f"{dtype}:", f"{dtype}:{_count}"
    t = _types[dtype]
    other = "float64" if dtype == "float32" else "float32"
    pack = 4 if dtype == "float32" else 2
    size = "unsigned int" if dtype == "float32" else "unsigned long"
    yield "where", f"{truths} {x} {x} -> {x}", f"select_kernel<{size}, {pack}>"
    yield "cast", f"{x} -> {other}:{_matrix}", f"cast_kernel<Plain<{t}>, Plain<{_types[other]}>>"
    yield "fill", f"int32:2 {number} -> {x}", f"fill_kernel<{size}>"
    yield "clip_by_value", f"{x} {number} {number} -> {x}", f"clip_kernel<{t}, {pack}>"
    yield "random_uniform", f"-> {x}", f"draw_kernel<{t}, Uniform<{t}>>"
    yield "random_normal", f"-> {x}", f"draw_kernel<{t}, Normal<{t}>>"
    yield "dropout", f"{x} -> {x}", f"dropout_kernel<{t}>"
    yield "reduce_sum", f"{x} -> {dtype}:{_rows}", f"parts_kernel<Sum, Plain<{t}>>"
    yield "reduce_sum", f"{x} -> {row}", f"columns_kernel<Sum, {pack}, {t}>"
    yield "reduce_max", f"{x} -> {dtype}:{_rows}", f"parts_kernel<Maximum, Plain<{t}>>"
    softmax = "short_rows_by_warps_kernel<{}, 16, float>" if dtype == "float32" else "rows_by_warps_kernel<{}, double>"
    yield "softmax", f"{x} -> {x}", softmax.format(0)
    yield "log_softmax", f"{x} -> {x}", softmax.format(1)
    yield "reduce_logsumexp", f"{x} -> {dtype}:{_rows}", softmax.format(2)
    yield "layer_norm", f"{x} {row} {row} -> {x} {dtype}:{_rows} {dtype}:{_rows}", f"normalize_rows<{t}>"
    yield "batch_norm", f"{x} {row} {row} -> {x} {row} {row}", f"normalize_channels<{t}, int>"
    yield "range", f"{number} {number} {number} -> {dtype}:{_rows * _count}", f"sequence_kernel<{t}>"
    yield "gradient_descent", f"{x} {x} {number} -> {x}", f"update_kernel<{t}, GradientDescent<{t}>>"
    yield "momentum", f"{x} {x} {x} {number} {number} -> {x} {x}", f"update_kernel<{t}, Momentum<{t}, false>>"
    yield "sort", f"{x} -> {x}", f"sort_pieces_kernel<{t}>"
    yield "cumsum", f"{x} -> {x}", f"rows_kernel<ByWarp, RunningSum<{t}, false>>"
    yield "cumulative_logsumexp", f"{x} -> {x}", f"rows_kernel<ByWarp, RunningLogSum<{t}>>"
    yield "gather", f"{x} int64:{_rows} -> {x}", "gather_kernel<Bytes16>"
    images = f"{dtype}:10,250,20,80 ksize=2,2 -> {dtype}:10,125,10,80"
    yield "max_pool", images, f"largest_kernel<0, {t}, {t}, int>"
    yield "avg_pool", images, f"mean_kernel<{t}, int>"
    numbers = " ".join([number] * 5)
    yield "adam", f"{x} {x} {x} {x} {numbers} -> {x} {x} {x}", f"update_kernel<{t}, Adam<{t}, false>>"


def _products(dtype):
    """The same of ops whose work is cuBLAS', some beside a kernel; for each element of the result or the weights."""
    x = f"{dtype}:{_matrix}"
    yield "matmul", f"{x} {x} -> {x}", "cuBLAS"
    if dtype in _types:
        heads = f"{dtype}:4,500,64"
        call = f"{heads} {heads} {heads} -> {heads} {dtype}:4,500,500"
        yield "attention", call, f"softmax_rows<{_types[dtype]}>"


def _elementwise(kernel):
    """The same of a function's kernel of operands side by side."""
    of = {"unary_kernel": 1, "binary_kernel": 2}.get(kernel.function)
    dtypes = {type_name: dtype for dtype, type_name in _types.items()}
    if of is None or kernel.arguments[0] not in dtypes:
        return None
    dtype = dtypes[kernel.arguments[0]]
    result = "bool" if kernel.arguments[1] == "bool" else dtype
    x = f"{dtype}:{_matrix}"
    return kernel.arguments[2], f"{' '.join([x] * of)} -> {result}:{_matrix}", dtype


def table(kernels, program):
    """Lines about the streaming kernels of pairs (signature, (registers, occupancy)), as one architecture has them. An
    op that the registry does not know, or whose kernel is not there, is an error; a function that only other ops call
    is left out."""
    by_name = {str(kernel): kernel for kernel, _ in kernels}
    found = {str(kernel): numbers for kernel, numbers in kernels}
    wanted = []
    for dtype in peak_of_products:
        for op, call, kernel in [*_products(dtype), *(_calls(dtype) if dtype in _types else ())]:
            if kernel not in by_name and kernel != "cuBLAS":
                raise LookupError(f"{op} of {dtype} has no kernel {kernel}")
            wanted.append((op, call, dtype, kernel, True))
    for name, kernel in sorted(by_name.items()):
        if function := _elementwise(kernel):
            wanted.append((function[0], function[1], function[2], name, False))
    text = "".join(f"{op} {call}\n" for op, call, *_ in wanted)
    answers = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    columns = f"{'bytes':>7}{'flops':>7}{'registers':>11}{'occupancy':>11}{'µs per 10⁶':>12}"
    lines = [f"{'op':22}{'dtype':9}{columns}  {'bound by':12}kernel"]
    for (op, _, dtype, kernel, must_exist), answer in zip(wanted, answers, strict=True):
        if answer == "none":
            if must_exist:
                raise LookupError(f"the registry has no op {op}")
            continue
        flops, bytes_ = (float(number) / (_rows * _count) for number in answer.split())
        registers, occupancy = found.get(kernel, ("", ""))
        products = op in ("matmul", "attention")
        memory, arithmetic = bytes_ / bandwidth, flops / (peak_of_products if products else peak)[dtype]
        bound = "memory" if memory >= arithmetic else "arithmetic"
        lines.append(
            f"{op:22}{dtype:9}{bytes_:7.1f}{flops:7.1f}{registers:11}{f'{occupancy:.0%}' if kernel in found else '':>11}"
            f"{1e12 * max(memory, arithmetic):12.2f}  {bound:12}{kernel}"
        )
    return lines

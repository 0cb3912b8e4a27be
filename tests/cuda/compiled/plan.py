"""How the kernels of engine/cuda are meant to come out of nvcc: the one place that says so. A kernel that has no row
here is as `others` says."""
import dataclasses
import re

_bytes = {
    "bool": 1, "unsigned char": 1, "signed char": 1, "short": 2, "unsigned short": 2, "int": 4, "unsigned int": 4,
    "float": 4, "long": 8, "unsigned long": 8, "double": 8, "Bytes16": 16,
}  # fmt: skip


def size_of(type_name):
    """Bytes of an element: of a C++ type, of a tag of cast.cu, of a source of reduce.cu."""
    tag = re.match(r"(Plain|Narrow|Half|Pairs)<(.*)>$", type_name)
    if not tag:
        return _bytes[type_name]
    if tag[1] == "Half":
        return 2
    arguments = [part.strip() for part in tag[2].split(",")]
    return _bytes[arguments[1] if tag[1] == "Pairs" else arguments[0]]


@dataclasses.dataclass(frozen=True)
class Signature:
    """unary_kernel<float, bool, is_nan, 4>, without its namespaces."""

    function: str
    arguments: tuple

    def __str__(self):
        return self.function + (f"<{', '.join(self.arguments)}>" if self.arguments else "")


def signature(demangled):
    """Of what c++filt gives."""
    text = demangled.replace("(anonymous namespace)::", "")
    text = re.sub(r"\([\w:]+\)(?=\d)", "", text)  # (Result)1
    text = text.split("(", 1)[0].removeprefix("void ")
    name, _, rest = text.partition("<")
    arguments, depth, part = [], 0, ""
    for character in rest[: rest.rfind(">")]:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            arguments.append(part)
            part = ""
        else:
            part += character
    if part:
        arguments.append(part)
    plain = [re.sub(r"\w+::", "", argument).strip().replace(" >", ">") for argument in arguments]
    return Signature(name if name.startswith("cub::") else name.rsplit("::", 1)[-1], tuple(plain))


# ---- widths: (bits that a load has, bits that a store has), None where there is none such or where any will do ----

both = (128, 128)


def _of_function(kernel):
    """The wider one of operand and result moves in 128 bits."""
    operand, result, width = kernel.arguments[0], kernel.arguments[1], int(kernel.arguments[3])
    return (8 * size_of(operand) * width, 8 * size_of(result) * width) if width > 1 else None


def _of_cast(kernel):
    sizes = [size_of(argument) for argument in kernel.arguments]
    return tuple(128 * size // max(sizes) for size in sizes)


def _where(argument, widths, fits):
    return lambda kernel: widths if fits(kernel.arguments[argument]) else None


def _packs(argument):
    return _where(argument, both, lambda pack: int(pack) > 1)


def _largest_words():
    return _where(0, both, lambda word: word == "Bytes16")


def _of_rows(kernel):
    return (128, None) if size_of(kernel.arguments[1]) >= 4 else None  # truth values go as words of eight


def _of_columns(kernel):
    return (128, None) if int(kernel.arguments[1]) > 1 and size_of(kernel.arguments[2]) >= 4 else None


def _results_of_rows(kernel):
    return (128, None) if kernel.arguments[0] == "2" else both  # logsumexp: one result of each row


@dataclasses.dataclass(frozen=True)
class Plan:
    widths: object = None  # those, or a function of the signature that gives them; None: not a kernel that streams
    occupancy: float = 0.5  # at least, with the threads that the sources start it with (launches.py)
    shared: object = None  # bytes that the source declares: a function of the signature; None: any
    given: object = None  # bytes at most that a launch gives besides: a function of the signature; None: none


def _quads(kernel):
    return 128 * 32 * size_of(kernel.arguments[2])


def _exponentials(kernel):
    size = size_of(kernel.arguments[1])
    return 32 * (32 if size == 8 else 64) * size + 8 * size + size


def _sums_of_warps(type_name=None):
    """One for each of the 32 that a block may have, of that type or the kernel's own."""
    return lambda kernel: 32 * size_of(type_name or kernel.arguments[0])


def _nothing(_):
    return 0


def _tiles_of_products(kernel):
    return 2 * 16 * 17 * size_of(kernel.arguments[0])


def _pairs_to_sort(kernel):
    return 2048 * (size_of(kernel.arguments[0]) + 4)  # a key and a place


def _bins(_):
    return 4096 * 4  # as many as the window may ask for (engine/debug/answers.cpp)


# Rows shorter than a step of the CPU's lanes (short_rows_kernel), partial results (combine_kernel, add_kernel) and
# words that lie across 16 bytes (copy_kernel of smaller ones) are read as they come.
plans = {
    "unary_kernel": Plan(_of_function, shared=_nothing),
    "unary_walk_kernel": Plan(_of_function, shared=_nothing),
    "binary_kernel": Plan(_of_function, shared=_nothing),
    "binary_walk_kernel": Plan(_of_function, shared=_nothing, occupancy=0.375),
    "select_kernel": Plan(both, shared=_nothing, occupancy=0.375),
    "clip_kernel": Plan(both, shared=_nothing, occupancy=0.75),
    "scaled_sum_kernel": Plan(both, shared=_nothing, occupancy=0.75),
    "widen_kernel": Plan((64, 128), shared=_nothing, occupancy=0.75),
    "narrow_kernel": Plan((128, 64), shared=_nothing, occupancy=0.75),
    "cast_kernel": Plan(_of_cast, shared=_nothing, occupancy=0.75),
    "fill_kernel": Plan((None, 128), shared=_nothing, occupancy=0.75),
    "copy_kernel": Plan(_largest_words(), occupancy=0.75),
    "gather_kernel": Plan(_largest_words(), occupancy=0.75),
    "scatter_kernel": Plan(_largest_words(), occupancy=0.75),
    "scatter_claimed_kernel": Plan(_largest_words(), occupancy=0.75),
    "draw_kernel": Plan((None, 128), shared=_nothing, occupancy=0.75),
    "truncated_normal_kernel": Plan((None, 128), shared=_nothing),
    "dropout_kernel": Plan(both, shared=_nothing, occupancy=0.75),
    "update_kernel": Plan(both, shared=_nothing),
    "update_rows_kernel": Plan(_packs(0), shared=_nothing),
    "sum_rows_kernel": Plan(_packs(0), shared=_nothing),
    "parts_kernel": Plan(_of_rows, shared=_nothing),
    "columns_kernel": Plan(_of_columns, shared=_quads),
    "rows_by_warps_kernel": Plan(_results_of_rows, shared=_nothing, occupancy=0.375),
    "short_rows_by_warps_kernel": Plan(_results_of_rows, shared=_nothing, occupancy=0.18),  # a row stays in registers
    "rows_by_blocks_kernel": Plan(_results_of_rows, shared=_exponentials),
    "sequence_kernel": Plan((None, 128), shared=_nothing, occupancy=0.75),
    "linspace_kernel": Plan((None, 128), shared=_nothing),
    "normalize_channels": Plan(both, shared=_nothing, occupancy=0.75),
    "channels_gradient": Plan(both, shared=_nothing, occupancy=0.75),
    "normalize_rows": Plan(both, shared=_sums_of_warps("double")),
    "rows_gradient": Plan(both, shared=_sums_of_warps("double")),
    "softmax_rows": Plan(both, shared=_sums_of_warps()),
    "softmax_gradient": Plan(both, shared=_sums_of_warps()),
    "whole_number_products": Plan(shared=_tiles_of_products, occupancy=0.75),
    "sort_pieces_kernel": Plan(shared=_nothing, given=_pairs_to_sort),
    "bins_kernel": Plan(shared=_nothing, given=_bins),
    "rows_kernel": Plan(shared=_nothing),
    "sums_kernel": Plan(shared=_nothing),
    "segments_kernel": Plan(shared=_nothing, occupancy=0.43),  # the values of a piece stay in registers
    "pick_kernel": Plan(shared=_nothing, occupancy=0.75),
    "largest_kernel": Plan(shared=_nothing),
    "mean_kernel": Plan(shared=_nothing),
}
others = Plan(occupancy=0.25)


def plan_of(kernel):
    return plans.get(kernel.function, others)


def widths_of(kernel):
    widths = plan_of(kernel).widths
    return widths(kernel) if callable(widths) else widths


# ---- local memory ----

#: Their arguments are reduced by Payne's and Hanek's method where they are large, whose product with the digits of 2/π
#: stands in an array that loops count through: CUDA's sin, cos and tan.
functions_with_a_frame = {
    "sin", "cos", "tan", "digamma", "polygamma", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1",
}  # fmt: skip
largest_frame = 40  # bytes


def may_have_a_frame(kernel):
    return len(kernel.arguments) > 2 and kernel.arguments[2] in functions_with_a_frame


def is_of_a_library(kernel):
    """CUB's kernels are as its authors tuned them."""
    return kernel.function.startswith("cub::")

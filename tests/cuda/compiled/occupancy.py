"""How many warps of a kernel a multiprocessor holds, by NVIDIA's limits (CUDA C++ Programming Guide, table of technical
specifications per compute capability)."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Multiprocessor:
    shared: int  # bytes
    shared_of_the_system: int  # bytes of each block
    registers: int = 65536
    warps: int = 64
    blocks: int = 32


multiprocessors = {80: Multiprocessor(164 << 10, 1 << 10), 90: Multiprocessor(228 << 10, 1 << 10)}

_warp_registers, _shared_unit = 256, 128  # what is given out at a time


def _rounded(value, unit):
    return -(-value // unit) * unit


def occupancy(architecture, threads, registers, shared):
    """Warps that run at a time, of those that the multiprocessor has room for; `shared` without the system's part."""
    limits = multiprocessors[architecture]
    warps = -(-threads // 32)
    blocks = min(limits.blocks, limits.warps // warps)
    if registers:
        of_a_scheduler = limits.registers // 4 // _rounded(registers * 32, _warp_registers)
        of_registers = 4 * of_a_scheduler
        blocks = min(blocks, of_registers // warps)
    blocks = min(blocks, limits.shared // _rounded(shared + limits.shared_of_the_system, _shared_unit))
    return blocks * warps / limits.warps

"""nn.DataParallel on several devices is refused: its copies of a module run at the same time, and their records would mix."""
import functools
import importlib

REFUSAL = ("Tapedeck can't record DataParallel on several devices: it runs copies of the module at the same time. Give it one device, "
           "DataParallel(module, device_ids=[0]), or DistributedDataParallel, with one process for each device, or run the program without "
           "Tapedeck.")


def watch(attached):
    """Wraps what makes the copies; does nothing a second time. attached(): whether ops are recorded."""
    module = importlib.import_module("torch.nn.parallel.data_parallel")
    original = module.replicate
    if hasattr(original, "_tapedeck_watches"):
        return

    @functools.wraps(original)
    def replicate(*arguments, **named):
        if attached():
            raise RuntimeError(REFUSAL)
        return original(*arguments, **named)

    replicate._tapedeck_watches = True
    module.replicate = replicate

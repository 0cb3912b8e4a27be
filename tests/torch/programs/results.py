"""What a training run came to, to the last bit: the losses, and hashes of gradients and parameters."""
import hashlib
import json

import torch


def digest(tensors):
    """A hash of the bits of tensors, of their dtypes and of their shapes; None, as of a gradient that is not there, counts too."""
    found = hashlib.sha256()
    for tensor in tensors:
        if tensor is None:
            found.update(b"none")
            continue
        if tensor.is_sparse:
            tensor = tensor.to_dense()
        found.update(f"{tensor.dtype} {list(tensor.shape)}".encode())
        found.update(bytes(tensor.detach().reshape(-1).view(torch.uint8).tolist()))
    return found.hexdigest()[:32]


def report(losses, parameters, gradients=None, **others):
    """Prints them as one JSON line. Without `gradients`: those that the parameters have."""
    parameters = list(parameters)
    if gradients is None:
        gradients = [parameter.grad for parameter in parameters]
    print(json.dumps(dict(losses=[float(loss).hex() for loss in losses], parameters=digest(parameters), gradients=digest(gradients),
                          **{name: digest(tensors) for name, tensors in others.items()})), flush=True)

"""The peers of bench_functions.py: a process that runs its cases in PyTorch or JAX.

    python function_peers.py torch|jax THREADS

Each line on standard input is answered with a line of JSON. "prepare CASE" makes the case's variants, and answers with their names, or
for one that cannot be, why: torch and torch_compile, or jax_jit. "run VARIANT CALLS" answers with the seconds that so many calls took.
PyTorch compiles a variant within a minute, or it is left out. "first CASE CALLS" answers with the seconds of so many calls of torch_compile
or jax_jit, of which the first one compiles: nothing compiled before is of use to it."""
import json
import os
import signal
import sys
import time

LIMIT = 60
OPS = 200


def numbers(*shape):
    import numpy as np
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


class TooLong(Exception):
    pass


def within_limit(call):
    """Its result; TooLong after a minute."""
    def stop(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        return call()
    finally:
        signal.alarm(0)


# ---- PyTorch


def torch_chain(count):
    def run(x):
        for _ in range(count):
            x = x + x
        return x
    return run


def torch_chain_of_ten(case):
    import torch
    from chain_case import chain, operands
    x, y = map(torch.tensor, operands())
    x.requires_grad_(case == "chain_gradient")

    def total(x):
        return chain(x, y, torch.tanh, torch.exp, torch.sigmoid, torch.relu).sum()

    compiled = torch.compile(total)
    if case == "chain_gradient":
        return {"torch": lambda: torch.autograd.grad(total(x), x), "torch_compile": lambda: torch.autograd.grad(compiled(x), x)}
    return {"torch": lambda: total(x), "torch_compile": lambda: compiled(x)}


def torch_sgd():
    import bench_training
    import torch
    from torch import nn
    model, inputs, labels = bench_training.peer_mlp(torch, nn)
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    inputs, labels = torch.tensor(inputs), torch.tensor(labels)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def torch_step_of(case):
    import bench_training
    import torch
    if case == "mlp_sgd_step":
        return torch_sgd()
    if case != "autoencoder_10000_step":
        return bench_training.peer(case.removesuffix("_step"))
    import numpy as np
    random = np.random.default_rng(1)
    data = torch.tensor(random.random((10000, 784), np.float32))
    w = torch.tensor((random.random((784, 196), np.float32) - 0.5) * 0.1, requires_grad=True)

    def step():
        w.grad = None
        loss = (torch.sigmoid(torch.sigmoid(data @ w) @ w.T) - data).square().mean()
        loss.backward()
        return loss

    return step


def torch_variants(case):
    import torch
    x = torch.rand(10)
    if case == "call_empty":
        y = torch.ones([])
        def same(y): return y
        compiled = torch.compile(same)
        return {"torch": lambda: same(y), "torch_compile": lambda: compiled(y)}
    if case in ("small_op_short", "small_op_long"):
        chain = torch_chain(1 if case == "small_op_short" else 1 + OPS)
        compiled = torch.compile(chain)
        return {"torch": lambda: chain(x), "torch_compile": lambda: compiled(x)}
    if case == "trace_resnet50":
        return {}
    if case in ("chain_sum", "chain_gradient"):
        return torch_chain_of_ten(case)
    step = torch_step_of(case)
    compiled = torch.compile(torch_step_of(case))
    return {"torch": step, "torch_compile": compiled}


# ---- JAX


def jax_adam(loss_of, parameters):
    """A jitted step on this state: parameters, both moments, count."""
    import jax
    import jax.numpy as jnp

    def step(state):
        parameters, first, second, count = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters)
        count = count + 1
        first = jax.tree.map(lambda m, g: .9 * m + .1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: .999 * v + .001 * g * g, second, gradients)
        rate = 1e-3 * jnp.sqrt(1 - .999**count) / (1 - .9**count)
        parameters = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-7), parameters, first, second)
        return loss, (parameters, first, second, count)

    zeros = jax.tree.map(jnp.zeros_like, parameters)
    state = [(parameters, zeros, jax.tree.map(jnp.zeros_like, parameters), jnp.zeros([]))]
    jitted = jax.jit(step, donate_argnums=0)

    def run():
        loss, state[0] = jitted(state[0])
        return loss.block_until_ready()

    return run


def jax_sgd(loss_of, parameters):
    import jax

    def step(parameters):
        loss, gradients = jax.value_and_grad(loss_of)(parameters)
        return loss, jax.tree.map(lambda p, g: p - 1e-2 * g, parameters, gradients)

    state = [parameters]
    jitted = jax.jit(step, donate_argnums=0)

    def run():
        loss, state[0] = jitted(state[0])
        return loss.block_until_ready()

    return run


def jax_mlp_sgd():
    return jax_mlp(jax_sgd)


def jax_chain_of_ten(case):
    import jax
    import jax.numpy as jnp
    from chain_case import chain, operands
    x, y = map(jnp.asarray, operands())

    def total(x, y):
        return chain(x, y, jnp.tanh, jnp.exp, jax.nn.sigmoid, jax.nn.relu).sum()

    jitted = jax.jit(jax.grad(total) if case == "chain_gradient" else total)
    return lambda: jitted(x, y).block_until_ready()


def jax_mlp(optimizer=jax_adam):
    import bench_training
    import jax
    import jax.numpy as jnp
    widths = 784, 512, 512, 10
    parameters = [(jnp.asarray(numbers(a, b) * .05), jnp.zeros(b)) for a, b in zip(widths, widths[1:])]
    x, labels = jnp.asarray(numbers(128, 784)), jnp.asarray(bench_training.classes(10, 128))

    def loss_of(parameters):
        h = x
        for number, (w, b) in enumerate(parameters):
            h = h @ w + b
            h = jax.nn.relu(h) if number < 2 else h
        return -jnp.take_along_axis(jax.nn.log_softmax(h), labels[:, None], 1).mean()

    return optimizer(loss_of, parameters)


def jax_lstm():
    import jax
    import jax.numpy as jnp
    parameters = [(jnp.asarray(numbers(256, 1024) * .05), jnp.asarray(numbers(256, 1024) * .05 + 1e-4), jnp.zeros(1024)) for _ in range(2)]
    x = jnp.asarray(numbers(32, 64, 256))

    def loss_of(parameters):
        outputs = jnp.swapaxes(x, 0, 1)
        for kernel, recurrent, bias in parameters:
            def cell(state, gates, recurrent=recurrent):
                h, c = state
                i, f, g, o = jnp.split(gates + h @ recurrent, 4, -1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            outputs = jax.lax.scan(cell, (jnp.zeros((32, 256)),) * 2, outputs @ kernel + bias)[1]
        return (outputs**2).mean()

    return jax_adam(loss_of, parameters)


def jax_transformer():
    import jax
    import jax.numpy as jnp
    w = lambda *shape: jnp.asarray(numbers(*shape) * .05)  # noqa: E731
    parameters = dict(q=w(256, 256), k=w(256, 256), v=w(256, 256), o=w(256, 256), up=w(256, 1024), down=w(1024, 256),
                      biases=[jnp.zeros(256) for _ in range(5)] + [jnp.zeros(1024)],
                      norms=[made(256) for made in (jnp.ones, jnp.zeros) * 2])
    x = jnp.asarray(numbers(16, 128, 256))

    def norm(x, scale, shift):
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3) * scale + shift

    def loss_of(p):
        b = p["biases"]
        n = norm(x, *p["norms"][:2])
        q, k, v = ((n @ p[name] + b[place]).reshape(16, 128, 8, 32) for place, name in enumerate("qkv"))
        h = x + jax.nn.dot_product_attention(q, k, v).reshape(16, 128, 256) @ p["o"] + b[3]
        y = h + jax.nn.gelu(norm(h, *p["norms"][2:]) @ p["up"] + b[5]) @ p["down"] + b[4]
        return (y**2).mean()

    return jax_adam(loss_of, parameters)


def jax_autoencoder():
    import jax
    import jax.numpy as jnp
    import numpy as np
    random = np.random.default_rng(1)
    data = jnp.asarray(random.random((10000, 784), np.float32))
    w = jnp.asarray((random.random((784, 196), np.float32) - 0.5) * 0.1)

    def loss_of(w, data):
        return jnp.mean((jax.nn.sigmoid(jax.nn.sigmoid(data @ w) @ w.T) - data)**2)

    jitted = jax.jit(jax.value_and_grad(loss_of))
    return lambda: jitted(w, data)[1].block_until_ready()


def jax_resnet_trace():
    """Traces ResNet-50 with its gradient; nothing is compiled."""
    import jax
    import jax.numpy as jnp
    import bench_training
    parameters = []

    def convolution(inputs, outputs, size):
        parameters.append((jnp.asarray(numbers(size, size, inputs, outputs) * .05), jnp.ones(outputs), jnp.zeros(outputs)))

    convolution(3, 64, 7)
    channels, plan = 64, []
    for width, count, stride in bench_training.RESNET:
        for number in range(count):
            plan.append((stride if not number else 1, not number))
            convolution(channels, width, 1)
            convolution(width, width, 3)
            convolution(width, 4 * width, 1)
            if not number:
                convolution(channels, 4 * width, 1)
            channels = 4 * width
    head = jnp.asarray(numbers(2048, 1000) * .05)
    images, labels = jnp.asarray(numbers(8, 224, 224, 3)), jnp.asarray(bench_training.classes(1000, 8))

    def layer(x, each, stride=1):
        kernel, scale, shift = each
        y = jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (y - y.mean((0, 1, 2))) / jnp.sqrt(y.var((0, 1, 2)) + 1e-3) * scale + shift

    def loss_of(everything):
        remaining = iter(everything[0])
        x = jax.nn.relu(layer(images, next(remaining), 2))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for stride, projects in plan:
            h = jax.nn.relu(layer(x, next(remaining)))
            h = jax.nn.relu(layer(h, next(remaining), stride))
            h = layer(h, next(remaining))
            x = jax.nn.relu(h + (layer(x, next(remaining), stride) if projects else x))
        scores = jax.nn.log_softmax(x.mean((1, 2)) @ everything[1])
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def run():
        jax.clear_caches()
        return jax.jit(jax.value_and_grad(lambda everything: loss_of(everything))).trace((parameters, head))

    return run


def jax_variants(case):
    import jax
    import jax.numpy as jnp
    if case == "call_empty":
        x = jnp.ones([])
        same = jax.jit(lambda x: x)
        return {"jax_jit": lambda: same(x).block_until_ready()}
    if case in ("small_op_short", "small_op_long"):
        x, count = jnp.asarray(numbers(10)), 1 if case == "small_op_short" else 1 + OPS
        jitted = jax.jit(torch_chain(count))
        return {"jax_jit": lambda: jitted(x).block_until_ready()}
    if case in ("chain_sum", "chain_gradient"):
        return {"jax_jit": jax_chain_of_ten(case)}
    step = {"mlp_step": jax_mlp, "mlp_sgd_step": jax_mlp_sgd,
            "lstm_step": jax_lstm, "transformer_step": jax_transformer, "autoencoder_10000_step": jax_autoencoder,
            "trace_resnet50": jax_resnet_trace}[case]()
    return {"jax_trace" if case == "trace_resnet50" else "jax_jit": step}


# ---- the process


def compiled_anew(framework, case):
    """(variant, its call), which has compiled nothing yet."""
    if framework == "torch":
        import torch
        import torch._inductor.config
        torch._dynamo.reset()
        torch._inductor.config.force_disable_caches = True
        return "torch_compile", torch.compile(torch_step_of(case))
    import jax
    jax.clear_caches()
    return "jax_jit", jax_variants(case)["jax_jit"]


def seconds_of(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start


def main():
    framework, threads = sys.argv[1], int(sys.argv[2])
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what others print is no answer
    if framework == "torch":
        import torch
        torch.set_num_threads(threads)
    variants = {}

    def answer(value):
        out.write(json.dumps(value) + "\n")
        out.flush()

    answer("ready")
    for line in sys.stdin:
        what, *rest = line.split()
        if what == "prepare":
            variants, found = (torch_variants if framework == "torch" else jax_variants)(rest[0]), {}
            for name, call in list(variants.items()):
                try:
                    within_limit(call)
                    call()
                    found[name] = None
                except Exception as error:  # the compiler gives TooLong another name
                    text = f"{type(error).__name__}: {error}"
                    found[name] = f"not compiled within {LIMIT} s" if "TooLong" in text else text.splitlines()[0][:120]
                if found[name] is not None:
                    del variants[name]
            answer(found)
        elif what == "first":
            name, call = compiled_anew(framework, rest[0])
            answer({name: seconds_of(call, int(rest[1]))})
        else:
            answer(seconds_of(variants[rest[0]], int(rest[1])))


if __name__ == "__main__":
    main()

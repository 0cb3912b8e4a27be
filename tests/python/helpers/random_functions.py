"""Random programs with control flow that a graph can have: each name keeps its dtype and shape, and none is another name of a variable,
whose later value a branch could not know. Sources of three functions that call each other, of which f is called. What they read from
outside, a test provides: tf, W, S, N (variables), own, Box, context."""
import re

# What a name of each kind is; the kind's letter is its dtype, its digits are its shape: f float32, d float64, i int32, l int64, b bool.
NAMES = {"f0": ("x", "y"), "f3": ("u", "v"), "f23": ("m", "n"), "f33": ("w",), "d0": ("e",), "d223": ("q",), "i0": ("i", "j"),
         "i3": ("r",), "l0": ("k",), "b0": ("o",)}
FIRST = {"f0": "y = x * .5", "f3": "v = u + x", "f23": "n = m * x", "f33": "w = tf.linalg.diag(u)", "d0": "e = tf.cast(x, tf.float64)",
         "d223": "q = tf.cast(tf.stack([m, m + 1.]), tf.float64)", "i0": "j = i + 2", "i3": "r = tf.range(3) * i",
         "l0": "k = tf.cast(i, tf.int64)", "b0": "o = x > .3"}

_FLOATS = ["({T} + {T})", "({T} - {T})", "({T} * {T})", "({T} * {number})", "({number} - {T})", "tf.tanh({T})", "tf.sin({T})",
           "({T} / (1. + tf.square({T})))", "tf.maximum({T}, {T})", "tf.minimum({T}, {number})", "-{T}", "tf.abs({T})",
           "tf.exp(-tf.abs({T}))", "tf.sqrt(tf.abs({T}) + 1.)", "tf.nn.relu({T})", "tf.sigmoid({T})", "tf.stop_gradient({T})", "own({T})",
           "tf.where({b0}, {T}, {T})", "({T} if {b0} else {T})", "tf.cond({b0}, lambda: {T}, lambda: {T})", "(lambda z: z * {T})({T})",
           "tf.clip_by_value({T}, -2., 2.)", "tf.identity({T})", "tf.where({T} > {T}, {T}, {T})", "tf.zeros_like({T})",
           "tf.add_n([{T}, {T}, {T}])", "sum([{T} for _ in range(2)])", "tf.square({T})",
           "tf.switch_case({i0} % 3, [lambda: {T}, lambda: {T}, lambda: {T}])",
           "tf.while_loop(lambda c, z: c < 2, lambda c, z: (c + 1, tf.tanh(z + {T})), (0, {T}))[1]"]
_F32 = ["(tf.random.stateless_uniform({shape}, seed=[3, {int}]) * {T})", "(tf.random.uniform({shape}) + {T})",
        "(tf.random.normal({shape}, seed={int}) * {T})", "({f0} * {T})"]
_INTEGERS = ["({T} + {T})", "({T} - {int})", "({T} * {int})", "({T} % 5)", "({T} // 2)", "tf.maximum({T}, {T})", "({T} if {b0} else {T})",
             "tf.where({b0}, {T}, {T})", "abs({T})"]
RULES = {
    "f0": [*_FLOATS, *_F32, "tf.reduce_sum({f3})", "tf.reduce_mean({f23})", "tf.reduce_max({f3})", "{f3}[{i0} % 3]", "{f3}[1]",
           "{f23}[1, 2]", "g({f0}, {f3}, {i0})", "g({f0}, {f3}, {i0})", "tf.reduce_sum({f3} * {f3})", "tf.cast({d0}, tf.float32)",
           "tf.cast({i0} % 7, tf.float32)", "tf.reduce_prod(tf.tanh({f3}))", "pair[0]", "table['s']", "box.value",
           "tf.reduce_logsumexp({f3})", "tf.cast({b0}, tf.float32)", "(S * {f0})", "S.read_value()",
           "tf.foldl(lambda z, t: tf.tanh(z + t), {f3}, {f0})", "max({f0}, {f0})", "tf.reduce_sum({f23}[:, {i0} % 3])"],
    "f3": [*_FLOATS, *_F32, "tf.reduce_sum({f23}, axis=0)", "{f23}[0]", "{f33}[{i0} % 3]", "tf.stack([{f0}, {f0}, {f0}])",
           "tf.linalg.matvec({f33}, {f3})", "tf.concat([{f3}[:1], {f3}[1:]], 0)", "tf.cumsum({f3})", "tf.reverse({f3}, [0])",
           "tf.gather({f3}, {i3} % 3)", "h({f3}, {f23})", "h({f3}, {f23})", "tf.map_fn(lambda t: t * {f0}, {f3})",
           "tf.scan(lambda z, t: z * .5 + t, {f3})", "tf.stack([{f0} * c for c in range(3)])", "pair[1]", "table['v']", "(W + {f3})",
           "tf.sort({f3})", "W.read_value()", "tf.one_hot({i0} % 3, 3)", "tf.nn.softmax({f3})",
           "tf.squeeze({f23}[:1], 0)", "tf.cast({i3} % 7, tf.float32)",
           "tf.tile({f3}[:1], [3])", "tf.convert_to_tensor([t for t in tf.unstack({f3})])"],
    "f23": [*_FLOATS, *_F32, "tf.matmul({f23}, {f33})", "({f23} + {f3})", "tf.stack([{f3}, {f3}])",
            "tf.reshape(tf.concat([{f3}, {f3}], 0), [2, 3])", "tf.transpose({f33})[:2]", "tf.cast({d223}[1], tf.float32)",
            "tf.stack([{f3} * c for c in (1., 2.)])", "{f23}[::-1]"],
    "f33": [*_FLOATS, *_F32, "tf.transpose({f33})", "tf.matmul({f23}, {f23}, transpose_a=True)", "tf.linalg.diag({f3})",
            "({f3}[:, None] * {f3})", "tf.concat([{f23}, {f3}[None]], 0)"],
    "d0": [*_FLOATS, "tf.cast({f0}, tf.float64)", "tf.reduce_sum({d223})", "tf.reduce_max(tf.tanh({d223}))"],
    "d223": [*_FLOATS, "tf.cast(tf.stack([{f23}, {f23}]), tf.float64)", "({d0} * {d223})", "tf.reverse({d223}, [1])"],
    "i0": [*_INTEGERS, "tf.cast(tf.clip_by_value({f0}, -9., 9.), tf.int32)", "tf.argmax({f3}, output_type=tf.int32)",
           "tf.reduce_sum({i3})", "tf.shape({f23})[0]", "tf.size({f3})", "N.read_value()", "(N + {i0})",
           "{i3}[{i0} % 3]", "tf.cast({l0}, tf.int32)", "len({f3})"],
    "i3": [*_INTEGERS, "tf.range(3)", "(tf.range(3) + {i0})", "tf.cast(tf.clip_by_value({f3}, -9., 9.), tf.int32)", "tf.argsort({f3})"],
    "l0": [*_INTEGERS, "tf.cast({i0}, tf.int64)", "tf.argmax({f3})"],
    "b0": ["{f0} < {f0}", "{f0} > {number}", "{i0} == {int}", "{i0} >= {i0}", "{number} < {f0} <= {f0}", "{int} < {i0} < {i0} <= 9",
           "(not {b0})", "({b0} and {b0})", "({b0} or {b0})", "({b0} and not {b0} or {b0})", "tf.reduce_any({f3} > {f0})",
           "tf.reduce_all({f3} < 2.)", "tf.logical_and({b0}, {b0})", "({b0} if {b0} else {b0})", "tf.not_equal({i0}, {i0})",
           "{d0} < {d0}", "any({f3} > {f3})", "({i0} % 2 == 0)", "({f0} != {f0})"],
}
PARAMETERS = {"f": ("x", "u", "m", "i"), "g": ("x", "u", "i"), "h": ("u", "m")}
RESULTS = {"f": "({f0}, {f3}, {i0}, {d0})", "g": "{f0}", "h": "{f3}"}
KIND_OF = {name: kind for kind, names in NAMES.items() for name in names}


class Scope:
    """Where a statement stands: depth of its block; in_loop: whether it may leave one; symbolic: whether a tensor may decide that it
    runs, where Python's own values may not change."""

    def __init__(self, depth=1, level=0, in_loop=False, symbolic=False, returns=True):
        self.depth, self.level, self.in_loop, self.symbolic, self.returns = depth, level, in_loop, symbolic, returns

    def inside(self, symbolic=False, in_loop=None, returns=None):
        """The scope of a block below."""
        return Scope(self.depth + 1, self.level + 1, self.in_loop if in_loop is None else in_loop, self.symbolic or symbolic,
                     self.returns if returns is None else returns)


class RandomFunctions:
    """source: the program's text. errors: whether checks may fail; there is no try in such a program."""

    def __init__(self, chance):
        self.chance, self.lines, self.numbers = chance, [], 0
        self.errors = chance.random() < .15
        self.function = None
        for name in ("h", "g", "f"):
            self.define(name)
        self.source = "\n".join(self.lines) + "\n"

    def add(self, scope, text):
        self.lines.append("    " * scope.depth + text)

    def define(self, name):
        self.function = name
        self.add(Scope(0), f"def {name}({', '.join(PARAMETERS[name])}):")
        scope = Scope()
        given = [*PARAMETERS[name]]
        for missing, first in (("i", "i = N + 1"), ("x", "x = tf.reduce_mean(u)"), ("m", "m = tf.stack([u, u * .5])")):
            if missing not in given:
                self.add(scope, first)
        for first in FIRST.values():
            self.add(scope, first)
        for first in ("pair = (x, u)", "table = {'s': x, 'v': u}", "box = Box(x)"):
            self.add(scope, first)
        self.add(scope, "def bump(z):")
        if self.chance.random() < .5:
            self.add(scope, "    nonlocal y")
            self.add(scope, "    y = y + z * .5")
        self.add(scope, f"    return z * {self.chance.choice(['x', 'y', 'v[0]', '.5'])}")
        self.block(scope, self.chance.randrange(2, 6 if name == "f" else 4))
        self.add(scope, f"return {self.filled(RESULTS[name])}")

    # ---- expressions

    def filled(self, template, depth=0):
        """The template with an expression in place of each kind."""
        return re.sub(r"\{(\w+)\}", lambda found: self.part(found[1], depth), template)

    def part(self, kind, depth):
        if kind == "number":
            return self.chance.choice([".5", "1.5", "-.25", "2.", "1"])
        if kind == "int":
            return str(self.chance.randrange(-1, 5))
        return self.expression(kind, depth + 1)

    def expression(self, kind, depth=0):
        if self.chance.random() < .25 + depth * .2:
            return self.chance.choice(NAMES[kind])
        while True:
            rule = self.chance.choice(RULES[kind])
            calls = re.search(r"\b[gh]\(", rule)
            if calls and (self.function != "f" and not (self.function == "g" and rule.startswith("h(")) or depth > 1):
                continue
            if ("lambda" in rule or "for" in rule) and depth > 1:
                continue
            shape = f"[{', '.join(kind[1:])}]" if kind[1:] != "0" else "[]"
            return self.filled(rule.replace("{T}", f"{{{kind}}}").replace("{shape}", shape), depth)

    # ---- statements

    def block(self, scope, count):
        for _ in range(count):
            self.statement(scope)

    def statement(self, scope):
        makers = [self.assignment] * 8 + [self.effect] * 2
        if scope.level < 4:
            makers += [self.branch] * 5 + [self.while_loop] * 2 + [self.for_loop] * 3 + [self.lists, self.context]
        if scope.level:
            makers += [self.exit] * 2
        self.chance.choice(makers)(scope)

    def assignment(self, scope):
        name = self.chance.choice([*KIND_OF, "pair", "table", "element", "box"])
        if name in KIND_OF:
            kind = KIND_OF[name]
            if kind[0] in "fdil" and self.chance.random() < .3:
                return self.add(scope, f"{name} {self.chance.choice(['+=', '-=', '*='])} {self.expression(kind, 1)}")
            value = self.expression(kind)
            return self.add(scope, f"{name} = " + (f"tf.tanh({value})" if kind[0] in "fd" and scope.in_loop else value))
        self.add(scope, self.filled(self.chance.choice({
            "pair": ["pair = ({f0}, pair[1])", "pair = (pair[0], {f3})", "pair = ({f0}, {f3})", "x, v = pair"],
            "table": ["table = {'s': {f0}, 'v': {f3}}", "table = dict(table, s={f0})"],
            "element": ["table['s'] = {f0}", "table['v'] = {f3}", "table['v'] += {f3}"],
            "box": ["box.value = {f0}", "box.value += {f0}"]}[name])))

    def effect(self, scope):
        rules = ["W.assign(tf.tanh({f3}))", "W.assign_add(tf.tanh({f3}) * .1)", "S.assign(tf.tanh({f0}))", "S.assign_sub(tf.sin({f0}))",
                 "N.assign(({i0}) % 9)", "N.assign_add(1)", "tf.print('at', {f0}, {i3})", "tf.print('all', {f23})",
                 "x = bump({f0})", "tf.debugging.assert_non_negative(tf.abs({f3}))", "assert {i0} == {i0} or True, 'never'"]
        if self.errors:
            rules += ["tf.debugging.assert_less({f0}, {number})", "assert {b0}, 'a check'", "tf.debugging.Assert({b0}, [{f0}])",
                      "x = tf.debugging.check_numerics(x / (y - y * {f0}), 'x')"]
        self.add(scope, self.filled(self.chance.choice(rules)))

    def branch(self, scope):
        self.add(scope, f"if {self.expression('b0')}:")
        inside = scope.inside(symbolic=True)
        self.block(inside, self.chance.randrange(1, 3))
        if self.chance.random() < .25:
            self.add(scope, f"elif {self.expression('b0')}:")
            self.block(inside, 1)
        if self.chance.random() < .5:
            self.add(scope, "else:")
            self.block(inside, self.chance.randrange(1, 3))

    def exit(self, scope):
        exits = (["break", "continue"] * 2 if scope.in_loop else []) + ([f"return {self.filled(RESULTS[self.function])}"] if scope.returns
                                                                        else [])
        if not exits:
            return self.assignment(scope)
        inside = scope.inside(symbolic=True)
        self.add(scope, f"if {self.expression('b0')}:")
        self.add(inside, self.chance.choice(exits))

    def counter(self):
        self.numbers += 1
        return f"c{self.numbers}"

    def while_loop(self, scope):
        counter = self.counter()
        kind = self.chance.randrange(3)
        self.add(scope, f"{counter} = {'0' if kind == 0 else 'tf.constant(0)'}")
        self.add(scope, f"while {counter} < 3:" if kind == 1 else f"while {counter} < 3 and {self.expression('b0')}:")
        inside = scope.inside(symbolic=True, in_loop=True)
        self.add(inside, f"{counter} += 1")
        self.block(inside, self.chance.randrange(1, 4))

    def for_loop(self, scope):
        number = self.counter()
        target, items, uses = self.chance.choice([
            (number, "tf.range(3)", f"x = x + tf.cast({number}, tf.float32)"), (number, "range(3)", f"x = x * .5 + {number}"),
            (number, "tf.range({i0} % 4)", f"i = i + {number}"), (number, "range({i0} % 4)", f"i = i + {number}"),
            (number, "{f3}", f"y = tf.tanh(y + {number})"), (number, "{f23}", f"u = u + {number} * .5"),
            (f"{number}, t{number}", "enumerate({f3})", f"x = tf.sin(x + t{number})"),
            (f"{number}, t{number}", "zip({f3}, {f23})", f"v = tf.tanh({number} + t{number})"),
            (number, "[{f0}, {f0}]", f"y = y - {number}"), (f"{number}, t{number}", "enumerate(range(2))", f"x = x + t{number}"),
            (number, "W", f"x = x - {number}"), (number, "tf.range(0, 5, 2)", f"j = j - {number}")])
        self.add(scope, f"for {target} in {self.filled(items)}:")
        python = items.startswith(("range(3", "[", "enumerate(range"))
        inside = scope.inside(symbolic=not python, in_loop=True)
        self.add(inside, uses)
        self.block(inside, self.chance.randrange(1, 4))

    def lists(self, scope):
        number = self.counter()
        if self.chance.random() < .5:
            self.add(scope, f"{number} = []")
            self.add(scope, f"for t{number} in range(3):")
            self.add(scope.inside(), self.filled(f"{number}.append({{f0}} + t{number})"))
            self.add(scope, f"v = tf.stack({number})")
        else:
            self.add(scope, f"{number} = tf.TensorArray(tf.float32, size=3)")
            self.add(scope, f"for t{number} in tf.range(3):")
            self.add(scope.inside(symbolic=True), self.filled(f"{number} = {number}.write(t{number}, {{f0}})"))
            self.add(scope, f"v = {number}.stack()")

    def context(self, scope):
        kind = self.chance.randrange(3)
        inside = scope.inside(in_loop=False, returns=False)
        if kind == 0 and not self.errors:
            self.add(scope, "try:")
            self.block(inside, self.chance.randrange(1, 3))
            self.add(scope, "finally:")
            return self.block(inside, 1)
        self.add(scope, "with context():" if kind == 1 else "with tf.name_scope('inner'):")
        self.block(inside, self.chance.randrange(1, 3))

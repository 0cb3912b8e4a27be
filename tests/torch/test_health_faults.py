"""Faults of PyTorch programs that *Health* names: gradients that come or go too early, and labels that the loss cannot mean."""
import textwrap

from torch_health import HealthPrograms
from torch_interpreter import HERE, PROGRAMS, main

UPDATES = {"data": "one.data -= 0.01 * one.grad", "no_grad": "with torch.no_grad(): one -= 0.01 * one.grad",
           "add_": "one.data.add_(one.grad, alpha=-0.01)"}
ZEROS = "optimizer.zero_grad(set_to_none=False)"
LOOP = """
    model = nn.Linear(4, 1)
    optimizer = torch.optim.{optimizer}(model.parameters(), 0.01)
    for _ in range(12):
        {before}
        F.mse_loss(model(x), y).backward()
        {between}
        optimizer.step()
"""


class HealthFaults(HealthPrograms):
    modules = (HERE / "programs",)

    def by_hand(self, update, after, asked):
        self.check(textwrap.dedent(f"""
            model = nn.Linear(4, 1)
            for _ in range(20):
                F.mse_loss(model(x), y).backward()
                for one in model.parameters():
                    {update}
                    {after}
            {asked}
        """))

    def test_gradients_that_an_update_by_hand_adds_up(self):
        for name, update in UPDATES.items():
            with self.subTest(name):
                self.by_hand(update, "pass", textwrap.dedent("""
                    sums = {one["sentence"].split("gradient of ")[1].split()[0]: one for one in found("gradients added up")}
                    assert set(sums) == {"weight", "bias"}, sums
                    for one in sums.values():
                        assert "of 20 steps" in one["sentence"] and "grad to None" in one["cure"] and one["line"] > 0, one
                """).replace("\n", "\n            "))

    def test_gradients_that_are_set_back_are_not_added_up(self):
        for after in ("one.grad = None", "one.grad.zero_()", "one.grad *= 0.9", "one.grad.copy_(torch.zeros_like(one))"):
            with self.subTest(after):
                self.by_hand(UPDATES["data"], after, 'quiet("gradients added up")')
        self.check("""
            model, mean = nn.Linear(4, 1), torch.zeros(1, 4)
            for _ in range(20):  # gradients that no update takes
                F.mse_loss(model(x), y).backward()
                mean.mul_(0.9).add_(model.weight.grad)
            quiet("gradients added up", "gradients cleared")
        """)

    def test_gradients_that_are_cleared_before_the_step(self):
        for optimizer in ("SGD", "Adam"):
            for clear, part in (("optimizer.zero_grad()", "found none (None)"), (ZEROS, "made zeros of them"),
                                (f"nn.utils.clip_grad_norm_(model.parameters(), 1.0); {ZEROS}", "made zeros of them")):
                with self.subTest(optimizer, clear=clear):
                    self.check(LOOP.format(optimizer=optimizer, before="pass", between=clear) + f"""
    has("gradients cleared", "gave gradients to", "weight", "bias", "{part}", severity="error")
    assert "before backward()" in found("gradients cleared")[0]["cure"]
    """)

    def test_gradients_that_are_cleared_in_time(self):
        for clear in ("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)"):
            with self.subTest(clear):
                self.check(LOOP.format(optimizer="SGD", before=clear, between="pass") + """
    optimizer.zero_grad()
    optimizer.step()  # without gradients, behind no backward pass
    quiet("gradients cleared", "gradients added up")
    """)
        self.check("""
            model, other = nn.Linear(4, 1), nn.Linear(4, 1)
            idle = torch.optim.SGD(other.parameters(), 0.01)
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            for _ in range(8):  # an optimiser whose parameters no backward pass reached
                F.mse_loss(model(x), y).backward()
                idle.step()
                optimizer.step()
                optimizer.zero_grad()
            quiet("gradients cleared")
        """)
        self.check("""
            generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
            first, second = (torch.optim.SGD(one.parameters(), 0.01) for one in (generator, critic))
            for _ in range(8):  # those that the generator's loss gave to the critic are cleared on purpose
                first.zero_grad(set_to_none=False)
                critic(generator(torch.randn(8, 2))).mean().backward()
                first.step()
                second.zero_grad(set_to_none=False)
                critic(x).mean().backward()
                second.step()
            quiet("gradients cleared")
        """)

    def test_a_step_without_gradients_is_a_record(self):
        self.check("""
            model = nn.Linear(4, 1)
            optimizer = torch.optim.Adam(model.parameters())
            optimizer.step()
            idle, = records(op="optim.step_without_gradients")
            assert len(idle["inputs"]) == 2 and idle["scope"] == "Adam.step", idle
            model(x).mean().backward()
            optimizer.step()
            assert len(records(op="optim.step_without_gradients")) == 1
        """)

    def labels(self, loss, labels, asked, classes=3):
        self.check(f"""
            model = nn.Linear(4, {classes})
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            labels = {labels}
            try:
                for _ in range(3):
                    optimizer.zero_grad()
                    {loss}.backward()
                    optimizer.step()
            except (IndexError, RuntimeError) as error:
                assert "out of bounds" in str(error) or "scalar type" in str(error) or "expected" in str(error).lower(), error
            {asked}
        """)

    def test_labels_that_no_class_has(self):
        loss, wrong = "F.cross_entropy(model(x), labels)", 'has("labels out of range", "aten.nll_loss_forward", {}, severity="error")\n'
        for labels, parts, cure in (("classes + 1", '"go from 1 to 3", "3 classes are numbered 0 to 2", "the op failed"', "subtract 1"),
                                    ("torch.where(classes == 0, -1, classes)", '"go from -1 to 2"', "ignore_index=-1"),
                                    ("classes * 4", '"go from 0 to 8"', "an output for each class")):
            with self.subTest(labels):
                self.labels(loss, labels, wrong.format(parts) + f"            assert {cure!r} in found('labels out of range')[0]['cure']")
        self.check("""
            model = nn.Linear(4, 3)
            for step in range(4):  # a batch that the program itself passes over
                try:
                    F.cross_entropy(model(x), classes + (step == 2)).backward()
                except IndexError:
                    continue
                with torch.no_grad():
                    for one in model.parameters():
                        one -= 0.01 * one.grad
                        one.grad = None
            has("labels out of range", "go from 1 to 3", severity="error")
        """)

    def test_labels_of_classes_that_are_there(self):
        quiet = 'quiet("labels out of range", "labels of another dtype")'
        for loss, labels in (("F.cross_entropy(model(x), labels)", "classes"),
                             ("F.cross_entropy(model(x), labels)", "torch.where(classes == 0, -100, classes)"),
                             ("F.cross_entropy(model(x), labels, ignore_index=-1)", "torch.where(classes == 0, -1, classes)"),
                             ("F.cross_entropy(model(x), labels)", "F.one_hot(classes, 3).float()"),
                             ("F.binary_cross_entropy_with_logits(model(x), labels)", "torch.rand(64, 3)")):
            with self.subTest(loss, labels=labels):
                self.labels(loss, labels, quiet)

    def test_labels_of_another_dtype(self):
        self.labels("F.cross_entropy(model(x), labels)", "classes.int()",
                    'has("labels of another dtype", "are int32", "int64", "the op failed", severity="error")\n'
                    '            assert "labels.long()" in found("labels of another dtype")[0]["cure"]')

    def test_labels_that_are_no_yes_or_no(self):
        for labels, parts, cure in (("torch.where(y > 0, 1.0, -1.0)", '"go from -1 to 1"', "(labels + 1) / 2"),
                                    ("classes[:, None].float()", '"go from 0 to 2"', "cross_entropy")):
            with self.subTest(labels):
                self.labels("F.binary_cross_entropy_with_logits(model(x), labels)", labels,
                            f'has("labels out of range", "yes or no", {parts}, severity="error")\n'
                            f"            assert {cure!r} in found('labels out of range')[0]['cure']", classes=1)

    def test_programs_that_train_well_have_none_of_these(self):
        for path in PROGRAMS:
            with self.subTest(path.stem):
                self.check(f"""
                    import contextlib, io
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile({path.read_text(encoding="utf-8")!r}, {path.stem!r}, "exec"), {{"__name__": "program"}})
                    quiet("gradients cleared", "gradients added up", "labels out of range", "labels of another dtype")
                """)

    def test_cures_name_functions_of_pytorch(self):
        for sign, asked in (("-", '"clip_grad_norm_" in cures'), ("+", '"p -= rate * p.grad" in cures')):
            with self.subTest(sign):
                self.check(f"""
                    model = nn.Linear(4, 1)
                    for _ in range(25):
                        F.mse_loss(model(x), y).backward()
                        with torch.no_grad():
                            for one in model.parameters():
                                one.copy_(one {sign} {1e3 if sign == "-" else 0.01} * one.grad)
                                one.grad = None
                    cures = " ".join(one["cure"] for one in debug.health_findings(30))
                    assert {asked}, debug.health_findings(30)
                    for foreign in ("tf.", "assign_sub", "Keras", "axis="):
                        assert foreign not in cures, cures
                """)


if __name__ == "__main__":
    main()

"""*Why is this gradient None?* of PyTorch programs."""
from torch_interpreter import main
from why_programs import WhyPrograms


class NoGradients(WhyPrograms):
    def test_where_the_path_of_a_gradient_ends(self):
        self.check("""
            w = torch.ones(3, requires_grad=True)
            def asked(make):
                x = torch.ones(3, requires_grad=True)
                (make(x) * w).sum().backward()
                assert x.grad is None
                answer = has(why("gradient", x), "no gradient came to")
                assert records()[reason(answer, "asked here")["record"] - 1]["kind"] == "playback"
                return answer
            def under_no_grad(x):
                with torch.no_grad():
                    return x * 2
            answer = has(asked(lambda x: x.detach() * 2), "ends at aten.detach", "detach() or .data cuts the graph")
            assert reason(answer, "stopped")["line"] == line_of("asked(lambda x: x.detach() * 2)"), answer
            has(asked(lambda x: x.data * 2), "detach() or .data cuts the graph")
            answer = has(asked(under_no_grad), "gradients were off", "torch.no_grad()")
            assert reason(answer, "stopped")["line"] == line_of("return x * 2"), answer
            has(asked(lambda x: x.long().float()), "its result is not a floating-point tensor, and integers have no gradient")
            answer = has(asked(lambda x: (x * 2).sum().item()), "does not depend on it", "Python read a number")
            assert reason(answer, "left the graph")["op"] == "aten._local_scalar_dense", answer
            answer = has(asked(lambda x: 1.0), "does not depend on it by any recorded op")
        """)

    def test_inference_mode_ends_the_path(self):
        self.check("""
            x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
            with torch.inference_mode():
                y = x * 2
            (y.clone() * w).sum().backward()
            has(why("gradient", x), "it ran under torch.inference_mode()")
        """)

    def test_a_tensor_that_requires_no_gradient(self):
        self.check("""
            x, w = torch.ones(3), torch.ones(3, requires_grad=True)
            (x * w).sum().backward()
            has(why("gradient", x), "aten.mul.Tensor", "did not require a gradient when this op read it")
            count, n = torch.ones(3, dtype=torch.int64), torch.ones(3, requires_grad=True)
            (count * n).sum().backward()
            vjp = [one for one in records(kind="vjp", op="aten.mul.Tensor") if one["forward"]][-1]
            has(why("gradient", vjp), "integers and booleans have no gradient")
            has(why("gradient", records(kind="vjp", op="aten.mul.Tensor")[0]), "did not require a gradient when the op ran")
        """)

    def test_a_leaf_that_was_replaced(self):
        self.check("""
            leaf = torch.ones(3, requires_grad=True)
            x = leaf.to(torch.float64)
            (x * 2).sum().backward()
            assert not x.is_leaf and leaf.grad is not None
            answer = has(why("gradient", x), "it is no leaf", "aten._to_copy", "retain_grad()")
            assert reason(answer, "not a leaf")["line"] == line_of("leaf.to("), answer
            came = records()[reason(answer, "came here")["record"] - 1]
            assert came["op"] == "aten._to_copy" and preview(came["inputs"][0]) == "2. 2. 2.", came
        """)

    def test_a_function_of_the_program_that_gives_none(self):
        self.check("""
            class Stops(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return (x * 3).exp()
                @staticmethod
                def backward(ctx, gradient): return None
            x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            (Stops.apply(x) * w).sum().backward()
            has(why("gradient", x), "the backward() of Stops gave None")
        """)

    def test_a_gradient_that_was_asked_of_others_alone(self):
        self.check("""
            x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            torch.autograd.grad((x * w).sum(), w)
            lacks(why("gradient", x), "asked for gradients of other tensors alone")
            has(why("gradient", w), "none of its 2 elements is zero")
        """)

    def test_a_gradient_that_arrived_and_was_dropped(self):
        self.check("""
            layer = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, foreach=False)
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            assert layer.weight.grad is None
            has(why("gradient", layer.weight), "a gradient arrived", "none of its 4 elements is zero", "zero_grad() does")
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.zero_grad(set_to_none=False)
            answer = has(why("gradient", layer.weight), "a gradient arrived", "wrote zeros into it")
            assert reason(answer, "set to zero")["line"] == line_of("set_to_none=False)"), answer
            torch.ones(2, requires_grad=True).sum().backward()
            has(why("gradient", layer.weight), "no gradient came to", "An earlier backward pass had one for it")
        """)

    def test_gradients_of_a_checkpoint_arrive_in_the_pass_inside_and_outside(self):
        self.check("""
            from torch.utils.checkpoint import checkpoint
            layer = torch.nn.Linear(2, 2)
            for reentrant in (True, False):
                x = torch.ones(1, 2, requires_grad=True)
                checkpoint(lambda x: layer(x).tanh(), x, use_reentrant=reentrant).sum().backward()
                has(why("gradient", x), "a gradient arrived")
                has(why("gradient", layer.weight), "a gradient arrived")
        """)

    def test_what_python_reads_is_known(self):
        self.check("""
            w = torch.ones(3, requires_grad=True)
            def asked(read):
                x = torch.ones(3, requires_grad=True)
                ((w * read(x * 2)).sum()).backward()
                return has(why("gradient", x), "does not depend on it", "Python")
            for read in (lambda y: y.sum().item(), lambda y: float(y.sum()), lambda y: int(y.sum()), lambda y: 1.0 if y.sum() > 0 else 2.0,
                         lambda y: y.tolist()[0], lambda y: float(f"{y.sum():.1f}")):
                asked(read)
            number = line_of("torch.from_numpy(")
            answer = asked(lambda y: torch.from_numpy(y.detach().numpy()))
            assert f"read it on line {number}" in answer["sentence"], answer
            assert reason(answer, "left the graph")["line"] == number, answer
            answer = asked(lambda y: torch.tensor(y.tolist()))
            assert reason(answer, "left the graph")["line"] == line_of("torch.tensor(y.tolist())"), answer
        """)

    def test_a_shape_is_no_value(self):
        self.check("""
            x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
            (torch.zeros_like(x) + w).sum().backward()
            has(why("gradient", x), "ends at aten.zeros_like", "reads the shape")
        """)

    def test_the_backward_pass_is_that_of_the_op(self):
        """Not the newest one: of an op of an early step the one of its own graph, or else of its own step."""
        self.check("""
            torch.manual_seed(0)
            x, y = torch.randn(8, 3), torch.randn(8, 1)
            first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(second.parameters(), lr=0.01)
            for step in range(5):
                optimizer.zero_grad()
                h = torch.relu(first(x)).detach()
                unused = torch.sign(x)
                loss = (second(h) - y).square().mean()
                loss.backward()
                optimizer.step()
                if step % 2 == 0: loss.item()
            passes = [one["number"] for one in records(kind="playback")]
            assert len(passes) == 5
            def asked(step, op, which="outputs"):
                one = [one for one in records(kind="op", op=op) if not one["backward"]][step]
                tensor = one[which][0]["id"]
                answers = [why("gradient", tensor, record=one["number"])]
                if which == "outputs":
                    answers.append(why("gradient", tensor))
                for answer in answers:
                    assert f"(op {passes[step]}, line" in answer["sentence"] or reason(answer, "came here")["record"] > passes[step], answer
                    assert answer.get("complete") and answer["sentence"] == answers[0]["sentence"], answers
                return answers[0]
            for step in (0, 1, 4):
                answer = has(asked(step, "aten.relu"), "ends at aten.detach", "detach() or .data cuts the graph")
                assert reason(answer, "stopped")["line"] == line_of("torch.relu(first(x))"), answer
                has(asked(step, "aten.sign"), "does not depend on it")
                answer = has(asked(step, "aten.mean"), "The gradient came as far as", "aten.mean")
                came = reason(answer, "came here")["record"]
                assert passes[step] < came and (step == 4 or came < passes[step + 1]), (answer, passes)
            # Of a value of a parameter: the pass of the step whose op reads it.
            turned = [one for one in records(kind="op", op="aten.t") if not one["backward"] and one["inputs"][0]["shape"] == [1, 4]]
            for one, number in zip(turned, passes, strict=True):
                has(why("gradient", one["inputs"][0]["id"], record=one["number"]), f"In the backward pass (op {number}, ")
        """)

    def test_a_second_pass_may_be_the_one_that_comes_to_it(self):
        """As in a GAN: the first pass reads it behind detach(), the second one goes through it."""
        self.check("""
            maker, judge = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
            for _ in range(3):
                made = maker(torch.randn(4, 2))
                judge(made.detach()).mean().backward()
                judge(made).mean().backward()
            passes = [one["number"] for one in records(kind="playback")]
            one = [one for one in records(kind="op", op="aten.addmm") if one["outputs"][0]["shape"] == [4, 3]][0]
            answer = has(why("gradient", one["outputs"][0]["id"], record=one["number"]), "The gradient came as far as")
            assert passes[1] < reason(answer, "came here")["record"] < passes[2], (answer, passes)
        """)

    def test_a_variable_that_is_asked_about_by_itself_has_the_newest_pass(self):
        self.check("""
            x = torch.ones(3, requires_grad=True)
            for _ in range(3):
                (x * 2).sum().backward()
            last = records(kind="playback")[-1]["number"]
            has(why("gradient", x), f"In the backward pass (op {last}, ")
        """)


if __name__ == "__main__":
    main()

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


if __name__ == "__main__":
    main()

"""*Why?* about gradients that were changed: by hooks on their way, by the program after they arrived; and backward passes that were
refused."""
from torch_interpreter import main
from why_programs import WhyPrograms


class Hooks(WhyPrograms):
    def test_a_hook_that_makes_zeros_is_named(self):
        self.check("""
            def zeroed(number, *parts):
                answer = has(why("gradient", w.grad), "made by a hook", *parts)
                assert reason(answer, "hook")["line"] == number, answer
            w = torch.ones(3, requires_grad=True)
            w.register_hook(lambda g: g * 0)
            (w * 2).sum().backward()
            zeroed(line_of("w.register_hook("), "a hook of the program", "was 2.0 at [0]")
            w = torch.ones(3, requires_grad=True)
            h = w * 2
            h.register_hook(lambda g: torch.zeros_like(g))
            (h * 3).sum().backward()
            has(why("gradient", w.grad), "made by a hook", "aten.zeros_like", "was 3.0 at [0]")
            w = torch.ones(3, requires_grad=True)
            h = w * 2
            h.register_hook(torch.zeros_like)  # has no line of the program's
            (h * 3).sum().backward()
            has(why("gradient", w.grad), "aten.zeros_like", "is of a hook, or of a node", "was 3.0 at [0]")
            w = torch.ones(3, requires_grad=True)
            y = w.sinh()
            y.grad_fn.register_hook(lambda into, _: (into[0] * torch.tensor([1.0, 0.0, 1.0]),))
            y.sum().backward()
            zeroed(line_of("y.grad_fn.register_hook("), "33 %")
            w = torch.ones(3, requires_grad=True)
            h = w * 2
            h.register_hook(lambda g: g * 5)
            (h.relu() * torch.tensor([1.0, 0.0, 1.0])).sum().backward()
            answer = has(why("gradient", w.grad), "the other factor is zero there")
            assert "hook" not in answer["sentence"], answer
        """)

    def test_a_hook_behind_the_arrival(self):
        self.check("""
            def zeroed(parameter):
                parameter.grad.mul_(0)
            w = torch.ones(3, requires_grad=True)
            w.register_post_accumulate_grad_hook(zeroed)
            (w * 2).sum().backward()
            answer = has(why("gradient", w), "none of its 3 elements is zero", "Since then aten.mul_.Tensor", "wrote zeros into it")
            assert reason(answer, "set to zero")["line"] == line_of("parameter.grad.mul_(0)"), answer
            has(why("gradient", w.grad), "made by a hook", "was 2.0 at [0]")
        """)

    def test_a_full_backward_hook_of_a_module(self):
        self.check("""
            first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
            second.register_full_backward_hook(lambda module, into, out: (into[0] * 0,))
            second(first(torch.ones(1, 2))).sum().backward()
            answer = has(why("gradient", first.weight.grad), "a full backward hook of a module made zeros")
            assert reason(answer, "hook")["line"] == line_of("second.register_full_backward_hook("), answer
            has(why("check", first.weight.grad), "is not the derivative", "a full backward hook of a module changed it")
        """)

    def test_the_check_names_the_hook_and_no_vjp(self):
        self.check("""
            def checked(register):
                x = torch.tensor([1.0, 2.0], requires_grad=True)
                y = x.sinh()
                register(y)
                y.sum().backward()
                return has(why("check", x.grad))
            for register in (lambda y: y.register_hook(lambda g: g * 9),
                             lambda y: y.grad_fn.register_hook(lambda into, _: (into[0] * 9,)),
                             lambda y: y.grad_fn.register_prehook(lambda out: (out[0] * 9,))):
                answer = has(checked(register), "is not the derivative of the result: a hook of the program changed it",
                             "×9 in every element", "each of the 2 VJPs on its path")
                assert reason(answer, "hook")["op"] == "aten.mul.Tensor", answer
            has(checked(lambda y: y.register_hook(lambda g: g.clone())), "is right")
            has(checked(lambda y: y.register_hook(lambda g: None)), "is right")
        """)


class Arrived(WhyPrograms):
    def test_clipping_is_named_with_its_line(self):
        self.check("""
            utils = torch.nn.utils
            def asked(edit):
                layer = torch.nn.Linear(2, 1)
                (layer(torch.ones(1, 2)) * 100).sum().backward()
                edit(layer)
                layer.weight.grad * 1  # so that it is in a record
                answers = why("gradient", layer.weight), why("gradient", layer.weight.grad)
                for answer in answers:
                    assert answer["complete"] and "no gradient came" not in answer["sentence"], answer
                    assert reason(answer, "arrived")["op"] == "autograd.AccumulateGrad", answer
                has(answers[0], "a gradient arrived at weight", "Since then")
                has(answers[1], "This was the gradient of weight")
                return answers
            for foreach in (True, False):
                for answer in asked(lambda layer: utils.clip_grad_norm_(layer.parameters(), 1.0, foreach=foreach)):
                    assert "multiplied it by 0.00577" in answer["sentence"], answer
                    assert reason(answer, "written since")["line"] == line_of("utils.clip_grad_norm_("), answer
            for answer in asked(lambda layer: utils.clip_grad_value_(layer.parameters(), 0.0)):
                assert "wrote zeros into it" in answer["sentence"], answer
            whole, edited = asked(lambda layer: layer.weight.grad.mul_(0.5))
            assert "aten.mul_.Tensor" in whole["sentence"] and "multiplied it by 0.5" in whole["sentence"], whole
            whole, edited = asked(lambda layer: layer.weight.grad.copy_(torch.zeros(1, 2)))
            assert "aten.copy_" in edited["sentence"] and "wrote zeros into it" in edited["sentence"], edited
            whole, edited = asked(lambda layer: layer.weight.grad.data.zero_())
            assert reason(whole, "set to zero")["op"] == "aten.zero_", whole
            def one(layer):
                layer.weight.grad[0, 1] = 0
            whole, edited = asked(one)
            assert "wrote zeros into 1 of its 2 elements, through a view" in whole["sentence"], whole
        """)

    def test_a_gradient_that_nothing_wrote_into(self):
        self.check("""
            w, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
            (w * v).sum().backward()
            v.grad.mul_(0)
            answer = has(why("gradient", w), "a gradient arrived", "No recorded op has written into it since")
            assert "mul_" not in answer["sentence"] and "dropped" not in answer["sentence"], answer
            has(why("gradient", w.grad), "none of its 3 elements is zero")
            v.grad = None
            w * 1
            has(why("gradient", v), "The program has dropped it since, behind aten.mul_.Tensor")
            has(why("gradient", w), "it is still in memory")
        """)

    def test_a_gradient_that_was_not_kept(self):
        self.check("""
            w = torch.ones(3, requires_grad=True)
            y = (w * 2).sum()
            w.requires_grad_(False)
            y.backward()
            if w.grad is not None:
                raise __import__("unittest").SkipTest("this PyTorch keeps it")
            answer = has(why("gradient", w), "a gradient arrived", "PyTorch made no grad of it")
            assert "dropped" not in answer["sentence"], answer
        """)

    def test_two_leaves_with_one_gradient(self):
        self.check("""
            class Minus(torch.autograd.Function):
                @staticmethod
                def forward(ctx, a, b): return a - b
                @staticmethod
                def backward(ctx, g): return g, g
            a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            (Minus.apply(a, b) * 3).sum().backward()
            has(why("check", b.grad), "with respect to b", "is wrong", "×−1")
            has(why("check", a.grad), "with respect to a", "is right")
        """)

    def test_a_tensor_that_retains_its_gradient(self):
        self.check("""
            x = torch.ones(3, requires_grad=True)
            kept, other = x * 2, x * 2
            kept.retain_grad()
            (kept * 3 + other).sum().backward()
            answer = has(why("gradient", kept), "It is no leaf", "retain_grad() was called", "aten.clone")
            assert "None" not in answer["sentence"] and kept.grad is not None, answer
            has(why("gradient", other), "it is no leaf", "keeps grad for leaves alone")
        """)


class Ends(WhyPrograms):
    def test_a_leaf_that_was_made_of_a_result(self):
        self.check("""
            def asked(make):
                w = torch.ones(2, requires_grad=True)
                leaf = make(w * 2)
                (leaf * 3).sum().backward()
                return has(why("gradient", w), "no gradient came to w", "which is a leaf")
            answer = asked(lambda h: h.detach().requires_grad_())
            assert reason(answer, "stopped")["op"] == "aten.detach", answer
            assert reason(answer, "stopped")["line"] == line_of("h.detach().requires_grad_()"), answer
            assert reason(asked(torch.nn.Parameter), "stopped")["op"] == "aten.mul.Tensor"
            layers = torch.nn.Linear(2, 1), torch.nn.Linear(1, 1)
            optimizer = torch.optim.SGD([*layers[0].parameters(), *layers[1].parameters()], lr=0.1)
            layers[1](layers[0](torch.ones(1, 2))).sum().backward()
            optimizer.step()
            layers[1](torch.ones(1, 1)).sum().backward()
            answer = has(why("gradient", layers[0].weight), "does not depend on it by any recorded op")
            assert "which is a leaf" not in answer["sentence"], answer
        """)

    def test_a_frozen_layer_ends_the_path_where_it_is_read(self):
        self.check("""
            layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
            layers[0].requires_grad_(False)
            layers(torch.ones(4, 2)).sum().backward()
            answer = has(why("gradient", layers[0].weight), "ends at aten.t", "requires_grad was False then")
            assert "uniform_" not in answer["sentence"], answer
        """)

    def test_a_result_without_a_graph_says_what_ended_it(self):
        self.check("""
            def refused_by(make):
                x = torch.ones(3, requires_grad=True)
                try:
                    make(x).sum().backward()
                except RuntimeError as error:
                    assert "does not require grad" in str(error), error
                    return why("gradient", records(kind="playback")[-1])
                raise AssertionError("it did not refuse")
            def off(x):
                with torch.no_grad():
                    return x * 2
            def first_order(x):
                return torch.autograd.grad((x ** 3).sum(), x)[0] ** 2
            answer = has(refused_by(lambda x: x.argmax(0).float()), "was refused", "ends at aten.argmax", "integers have no gradient")
            assert reason(answer, "stopped")["line"] == line_of("x.argmax(0)"), answer
            has(refused_by(lambda x: x.detach() * 2), "ends at aten.detach")
            assert reason(has(refused_by(off), "gradients were off"), "stopped")["line"] == line_of("return x * 2")
            has(refused_by(first_order), "without create_graph=True")
            has(refused_by(lambda x: torch.ones(2) * 3), "Nothing that it was made of is known to require a gradient")
            has(refused_by(lambda x: torch.tensor((x * 2).sum().item())), "Python read a number")
        """)

    def test_a_second_backward_pass_says_what_the_first_freed(self):
        self.check("""
            x = torch.ones(3, requires_grad=True)
            y = (x * x).sum()
            y.backward(retain_graph=True)
            y.backward()  # the one that frees
            try:
                y.backward()
            except RuntimeError:
                pass
            answer = why("gradient", records(kind="playback")[-1])
            has(answer, "came to aten.mul.Tensor", "a second time", "without retain_graph=True")
            assert reason(answer, "freed it")["line"] == line_of("the one that frees"), answer
            assert reason(answer, "keeps it")["line"] == line_of("y = (x * x)"), answer
        """)

    def test_recording_that_began_after_the_forward_pass(self):
        self.check("""
            result.backward()
            answer = lacks(why("gradient", other * 1), "is not in the record", "recording began after it")
            assert "does not depend" not in answer["sentence"], answer
        """, before="w, other = torch.ones(3, requires_grad=True), torch.ones(3)\nresult = (w * 2).sum()")


if __name__ == "__main__":
    main()

"""Of PyTorch programs: is a gradient right, what made an element, how exact is it."""
from torch_interpreter import main
from why_programs import WhyPrograms


class Values(WhyPrograms):
    def test_gradients_are_compared_with_differences(self):
        self.check("""
            torch.manual_seed(1)
            model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, bias=False), torch.nn.BatchNorm2d(2), torch.nn.Tanh(), torch.nn.Flatten(),
                                        torch.nn.Linear(8, 3), torch.nn.LayerNorm(3))
            loss = torch.nn.functional.cross_entropy(model(torch.randn(3, 1, 4, 4)), torch.tensor([0, 1, 2]))
            loss.backward()
            has(why("check", model[0].weight.grad), "is right", "aten.convolution")
            has(why("check", records(kind="playback")[-1]), "the 7 tensors at which one arrived is right")
            for vjp in records(kind="vjp"):
                assert "is wrong" not in why("check", vjp)["sentence"], vjp
        """)

    def test_a_backward_that_the_program_wrote_is_compared(self):
        self.check("""
            class Doubled(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 3
                @staticmethod
                def backward(ctx, gradient): return gradient * 6
            x = torch.ones(2, requires_grad=True)
            Doubled.apply(x).exp().sum().backward()
            has(why("check", x.grad), "is wrong", "that of autograd.Doubled", "×2 in every element")
        """)

    def test_a_gradient_that_a_hook_changed_is_no_rounding(self):
        self.check("""
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y = x.sinh()
            y.grad_fn.register_hook(lambda gradients, _: (gradients[0] * 9,))
            y.sum().backward()
            has(why("check", x.grad), "is not the derivative of the result", "×9 in every element")
        """)

    def test_rounding_of_a_batch_norm_is_no_wrong_gradient(self):
        self.check("""
            torch.manual_seed(0)
            norm = torch.nn.BatchNorm1d(3)
            x = torch.randn(8, 3, requires_grad=True)
            norm(x).sum().backward()
            has(why("check", x.grad), "is right")
        """)

    def test_a_bias_is_no_factor_of_a_product(self):
        self.check("""
            for bias in (0.0, 0.5):
                layer = torch.nn.Linear(3, 2)
                with torch.no_grad():
                    layer.bias.fill_(bias)
                    layer.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
                y = layer(torch.tensor([[1.0, 1.0, 2.0]]))
                answer = has(why("contributions", y, [0, 1]), "aten.addmm")
                told = " ".join(one["sentence"] + " ".join(one["operands"]) for one in answer["reasons"])
                assert "mat" in answer["sentence"] + told, answer
                assert bias == 0.5 or "was made by aten.addmm from self" not in answer["sentence"], answer
        """)

    def test_numbers_of_the_call_are_part_of_what_made_a_nan(self):
        self.check("""
            big = torch.tensor([float("inf")])
            y = torch.add(big, big, alpha=-1)
            has(why("birth", y), "alpha=-1")
        """)

    def test_what_is_not_compared_is_said(self):
        self.check("""
            y = torch.ones(2, requires_grad=True)
            (y * (y * 2).sum().item()).sum().backward()
            assert "Python read a number on the way" in why("check", y.grad)["sentence"]
            z = torch.ones(2, requires_grad=True)
            (z * z.detach()).sum().backward()
            assert "What goes through aten.detach" in why("check", z.grad)["sentence"], why("check", z.grad)
        """)

    def test_what_a_straight_through_estimator_leaves_out_is_said(self):
        self.check("""
            torch.manual_seed(1)
            logits = torch.randn(3, 4, requires_grad=True)
            hard = torch.nn.functional.gumbel_softmax(logits, hard=True)
            (hard * torch.randn(3, 4)).sum().backward()
            has(why("check", logits.grad), "is right", "What goes through aten.detach", "is not part of this gradient")
            x = torch.tensor([1.0, -2.0], requires_grad=True)  # a mask has no slope that could be missing
            torch.where(x.detach() > 0, x, x * 0.1).sum().backward()
            assert "What goes through" not in why("check", x.grad)["sentence"], why("check", x.grad)
            y = torch.tensor([1.0, -2.0], requires_grad=True)
            (y + torch.zeros_like(y).exp()).sum().backward()
            assert "What goes through" not in why("check", y.grad)["sentence"], why("check", y.grad)
        """)

    def test_paths_go_through_writes_into_views(self):
        self.check("""
            x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
            w = torch.tensor([5.0, 6.0], requires_grad=True)
            y = x * 2
            y.view(2, 2)[0].mul_(w)
            y[2:].add_(1)
            (y * y).sum().backward()
            has(why("check", x.grad), "is right", "each of the 5 VJPs")
            has(why("check", w.grad), "is right", "back to aten.mul_.Tensor")
            has(why("contributions", w.grad), "comes from one use of the value, in aten.mul_.Tensor")
            writes = [one for one in records(kind="vjp") if one["op"] == "autograd.CopySlices"]
            assert len(writes) == 2
            for vjp in writes:
                has(why("check", vjp), "is right")
        """)

    def test_a_wrong_gradient_before_a_write_into_a_view_is_found(self):
        self.check("""
            class Doubled(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 3
                @staticmethod
                def backward(ctx, gradient): return gradient * 6
            x = torch.ones(4, requires_grad=True)
            y = Doubled.apply(x)
            y[:2].mul_(2)
            y.sum().backward()
            has(why("check", x.grad), "is wrong", "that of autograd.Doubled")
        """)

    def test_what_belongs_to_no_vjp_is_said(self):
        self.check("""
            x = torch.ones(4, requires_grad=True)
            y = x * 2
            v = y.view(2, 2)
            y[:2].mul_(3)
            (v * 3).sum().backward()
            lacks(why("check", x.grad), "No error was found", "belong to no VJP that is known", "a view whose whole was written to")
            x = torch.ones(4, requires_grad=True)
            y = x * 2
            y.register_hook(lambda gradient: gradient * 10)
            y.sum().backward()
            has(why("check", x.grad), "is not the derivative of the result", "a hook of the program", "×10 in every element")
        """)

    def test_the_vjp_of_a_write_that_saves_what_it_writes_over(self):
        self.check("""
            x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            y = x * 2
            y.mul_(w)
            y.sum().backward()
            vjp = [one for one in records(kind="vjp") if one["op"] == "aten.mul_.Tensor"]
            assert len(vjp) == 1 and vjp[0]["forward"] == records(op="aten.mul_.Tensor", kind="op")[0]["number"], vjp
            assert not [one for one in records(kind="vjp") if one["op"] == "aten.clone"]
            has(why("check", w.grad), "is right", "aten.mul_.Tensor")
        """)

    def test_contributions_and_digits_go_through_writes_into_views(self):
        self.check("""
            x = torch.tensor([1.0, 2.0, 3.0, 4.0])
            y = x * 2
            y.view(2, 2)[1].add_(10)
            z = y * 3
            answer = has(why("contributions", z, [3]), "54.0 at [3]", "aten.mul.Tensor")
            assert "aten.add_.Tensor" in [one["op"] for one in answer["reasons"]], answer
            answer = has(why("contributions", z, [1]), "12.0 at [1]")
            assert "aten.add_.Tensor" not in [one["op"] for one in answer["reasons"]], answer
            rough = torch.tensor([1e4 + 1 / 3, 1.0])
            whole = torch.zeros(2)
            whole[:1] = rough[:1] * 3
            lost = whole - torch.tensor([3e4, 0.0])
            answer = why("exactness", lost)
            assert "Most digits were lost in aten.sub.Tensor" in answer["sentence"], answer
        """)

    def test_what_an_element_was_made_of(self):
        self.check("""
            a, b = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[10.0], [1.0]])
            answer = has(why("contributions", a @ b, [1, 0]), "34.0 at [1, 0]", "aten.mm", "of 2 contributions")
            assert answer["reasons"][0]["operands"] == ["self[1, 0] = 3.0 · mat2[0, 0] = 10.0"], answer
            has(why("contributions", (a * 2).sum()), "20.0", "aten.sum", "the largest is self[1, 1] = 8.0 (40 %")
            kernel = torch.ones(1, 1, 2, 2)
            has(why("contributions", torch.nn.functional.conv2d(a[None, None], kernel)), "10.0", "aten.convolution", "of 4 contributions")
            w = torch.ones(2, requires_grad=True)
            (w * torch.tensor([1.0, 3.0]) + w * 2).sum().backward()
            has(why("contributions", w.grad), "is the sum of 2 contributions", "one for each use")
            (w * 7).sum().backward()
            has(why("contributions", w.grad), "is the sum of 3 contributions")
        """)

    def test_how_many_digits_are_right(self):
        self.check("""
            x = torch.tensor([1e4 + 1 / 3])
            y = x * 3
            z = y - torch.tensor([3e4])
            answer = why("exactness", z)
            assert "Most digits were lost in aten.sub.Tensor" in answer["sentence"], answer
            assert reason(answer, "lost digits")["line"] == line_of("z = y"), answer
            dropped = torch.nn.functional.dropout(torch.ones(3).exp(), 0.5)
            has(why("exactness", y), "digits of it are correct")
            assert "digits" in why("exactness", dropped)["sentence"]
        """)

    def test_questions_leave_the_program_as_it_was(self):
        self.check("""
            torch.manual_seed(3)
            layer = torch.nn.Linear(3, 2)
            x = torch.randn(4, 3, requires_grad=True)
            loss = torch.nn.functional.dropout(layer(x).relu(), 0.5).sum()
            loss.backward()
            count, state, version = len(records()), torch.get_rng_state(), layer.weight._version
            gradient = layer.weight.grad.clone()
            count += 1
            for question in ("birth", "size", "gradient", "contributions", "check", "exactness"):
                for tensor in (loss, layer.weight, layer.weight.grad, x.grad):
                    answer = why(question, tensor)
                    assert answer.get("sentence"), (question, answer)
            assert len(records()) == count and torch.equal(torch.get_rng_state(), state) and torch.is_grad_enabled()
            assert layer.weight._version == version and torch.equal(layer.weight.grad, gradient)
        """)


if __name__ == "__main__":
    main()

"""*Why is this gradient zero?* of PyTorch programs."""
from torch_interpreter import main
from why_programs import WhyPrograms


class ZeroGradients(WhyPrograms):
    def test_what_swallowed_a_gradient(self):
        self.check("""
            def asked(function):
                x = torch.tensor([-1.0, -2.0, 3.0], requires_grad=True)
                function(x).sum().backward()
                answer = why("gradient", x.grad)
                assert answer["sentence"] in why("gradient", x)["sentence"]
                return answer
            answer = has(asked(lambda x: x.relu() * 2), "67 %", "swallowed in aten.relu", "not above zero there, and relu is flat")
            assert reason(answer, "swallowed")["operands"] == ["self[0] = -1.0"], answer
            has(asked(lambda x: x * torch.tensor([1.0, 0.0, 1.0])), "33 %", "aten.mul.Tensor", "the other factor is zero there")
            has(asked(lambda x: x[:2] * 2), "aten.slice", "were not picked")
            has(asked(lambda x: x * 1e-30 * 1e-30), "underflow")
            has(asked(lambda x: (x * 0.5).masked_fill(x > 0, 0.0)), "aten.masked_fill")
            has(asked(lambda x: torch.nn.functional.dropout(x, 1.0)), "The whole gradient is zero")
            class Zeros(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 3
                @staticmethod
                def backward(ctx, gradient): return gradient * 0
            has(asked(Zeros.apply), "swallowed in autograd.Zeros", "the program gave it returned zeros")
            has(why("gradient", records(kind="playback")[-1]), "arrived at 1 tensor; 1 of them is zero as a whole")
        """)

    def test_a_write_through_a_view_swallows_what_was_there(self):
        self.check("""
            def asked(write, factor=2.0):
                x = torch.ones(4, requires_grad=True)
                y = x * factor
                write(y)
                y.sum().backward()
                answer = has(why("gradient", x.grad), "wrote over these elements through a view")
                assert has(why("gradient", x))["reasons"][0] == answer["reasons"][0]
                return x.grad, answer
            gradient, answer = asked(lambda y: y[:2].zero_())
            wrote = reason(answer, "swallowed")
            assert (wrote["op"], wrote["line"], wrote["element"]) == ("aten.zero_", line_of("y[:2].zero_()"), [0]), answer
            has(why("gradient", gradient, [1]), "swallowed in aten.zero_", "at 100 %")
            has(why("gradient", gradient, [2]), "is 2.0, not zero")
            has(asked(lambda y: y.view(2, 2)[1].fill_(0.0))[1], "50 %", "aten.fill_")
            has(asked(lambda y: y[1:][2:].copy_(torch.zeros(1)))[1], "25 %", "aten.copy_")
            def written_twice(y):
                y[:1].zero_()
                y[2:].fill_(1)
            answer = asked(written_twice)[1]
            wrote = sorted(one["op"] for one in answer["reasons"] if one["role"] == "swallowed")
            assert wrote == ["aten.fill_.Scalar", "aten.zero_"], answer
        """)

    def test_a_mask_that_is_written_through_a_view(self):
        self.check("""
            x = torch.ones(4, requires_grad=True)
            y = x * 2
            y[2:].masked_fill_(torch.tensor([True, False]), 0.0)
            y.sum().backward()
            answer = has(why("gradient", x.grad), "25 %", "swallowed in aten.masked_fill_", "through a view")
            assert reason(answer, "swallowed")["element"] == [2], answer
        """)

    def test_a_view_that_is_read_after_its_whole_was_written(self):
        self.check("""
            x = torch.ones(4, requires_grad=True)
            y = x * 2
            v = y.view(2, 2)
            y[:2].zero_()
            (v * 3).sum().backward()
            has(why("gradient", x.grad), "50 %", "swallowed in aten.zero_")
            x = torch.ones(4, requires_grad=True)
            y = x * 2
            part = y[1:]
            y.add_(1)
            part.sum().backward()
            has(why("gradient", x.grad), "25 %", "no part of the view that the gradient came from")
        """)

    def test_what_was_changed_behind_pytorchs_back(self):
        self.check("""
            x = torch.ones(4, requires_grad=True)
            y = x * x
            x.data.zero_()
            y.sum().backward()
            has(why("gradient", x.grad), "swallowed in aten.mul.Tensor", "aten.zero_", "changed what this op keeps for its gradient")
            x = torch.ones(4, requires_grad=True)
            x.data[:2].zero_()
            (x * x).sum().backward()
            has(why("gradient", x.grad), "50 %", "the other factor is zero there")
        """)


if __name__ == "__main__":
    main()

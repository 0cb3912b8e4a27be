"""What *Why?* says of zeros: whether the op's derivative is zero, what came in cancels, or an operand has the zeros."""
from torch_interpreter import main
from why_programs import WhyPrograms

ASKED = """
def asked(*shape_or_values):
    '''Of functions of a leaf with these values: the answer about its gradient.'''
    values = torch.tensor(*shape_or_values)
    def of(function):
        x = values.clone().requires_grad_()
        function(x).sum().backward()
        return why("gradient", x.grad)
    return of
"""


class Causes(WhyPrograms):
    def test_what_came_in_cancels_or_the_softmax_is_saturated(self):
        self.check(ASKED + """
even, far = asked([[0.0, 0.0, 0.0, 0.0]]), asked([[1000.0, 0.0, 0.0, 0.0]])
weights = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
answer = has(even(lambda x: x.softmax(1)), "swallowed in aten._softmax", "100 %", "came in cancels there", "All that came in is 1.0")
assert "saturated" not in answer["sentence"], answer
answer = has(even(lambda x: x.log_softmax(1) * torch.tensor([[2.0, 2.0, 2.0, 2.0]])), "came in cancels there", "All that came in is 2.0")
answer = has(far(lambda x: x.softmax(1) * weights), "it is saturated there")
assert "cancel" not in answer["sentence"], answer
has(even(lambda x: x.softmax(1) * weights), "none of its 4 elements is zero")
has(asked([[1.0, -1.0], [2.0, -2.0]])(lambda x: torch.nn.functional.layer_norm(x, [2])), "aten.native_layer_norm", "cancels there")
has(asked([1.0])(lambda b: (torch.ones(2) + b) * torch.tensor([1.0, -1.0])), "aten.add.Tensor", "cancels there")
""")

    def test_an_axis_of_one_element(self):
        self.check(ASKED + """
of = asked([[1.0], [2.0]])
scale = torch.tensor([[3.0], [4.0]])
answer = has(of(lambda x: x.softmax(1) * scale), "its axis 1 has one element", "softmax makes 1 whatever it is")
assert "saturated" not in answer["sentence"] and "cancel" not in answer["sentence"], answer
has(of(lambda x: x.log_softmax(-1) * scale), "its axis 1 has one element", "log_softmax makes 0")
has(of(lambda x: torch.nn.functional.layer_norm(x, [1]) * scale), "its slope is zero there", "other inputs that were tried")
assert "one element" not in of(lambda x: x.softmax(0) * scale)["sentence"]
""")

    def test_contributions_that_cancel_in_a_sum(self):
        self.check(ASKED + """
answer = has(asked([1.0, 2.0])(lambda x: x - x.mean()), "contributions cancel each other",
             "1.0 at [0] of aten.sum", "-1.0 at [0] of aten.mean")
assert reason(answer, "cancelled")["op"] == "aten.add.Tensor", answer
has(asked([[2.0], [3.0]])(lambda x: torch.nn.functional.normalize(x, dim=1)), "contributions cancel each other", "aten.linalg_vector_norm")
has(asked([1.0, 2.0])(lambda x: x * 3 - x * 2), "none of its 2 elements is zero")
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * 2).sum().backward()
(w * -2).sum().backward()
has(why("gradient", w.grad), "contributions cancel each other", "2.0")
""")

    def test_zeros_that_a_backward_pass_began_with(self):
        self.check("""
            w = torch.tensor([1.0, 2.0], requires_grad=True)
            (w * 2).backward(torch.tensor([0.0, 1.0]))
            answer = has(why("gradient", w.grad), "50 %", "was given zeros there to begin with")
            assert reason(answer, "begin")["element"] == [0], answer
        """)

    def test_the_zero_factor_of_a_product_of_matrices(self):
        self.check("""
            layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
            with torch.no_grad():
                layers[0].bias.fill_(-10)
            layers(torch.ones(4, 2)).sum().backward()
            answer = has(why("gradient", layers[2].weight), "swallowed in aten.addmm", "the factor mat1", "mat1[:, 0] is all zeros",
                         "aten.relu", "made it")
            assert reason(answer, "zero factor")["op"] == "aten.relu", answer
            w = torch.ones(2, 3, requires_grad=True)
            (torch.tensor([[0.0, 1.0], [0.0, 2.0]]) @ w).sum().backward()
            has(why("gradient", w.grad), "50 %", "aten.mm", "the factor self", "self[:, 0] is all zeros")
            w = torch.ones(1, 2, 3, requires_grad=True)
            torch.bmm(w, torch.tensor([[[1.0], [0.0], [1.0]]])).sum().backward()
            has(why("gradient", w.grad), "33 %", "aten.bmm", "the factor mat2", "mat2[0, 1, :] is all zeros")
            w = torch.ones(1, 2, 3, requires_grad=True)
            torch.bmm(w, torch.ones(1, 3, 1)).sum().backward()
            has(why("gradient", w.grad), "none of its 6 elements is zero")
        """)

    def test_relu_differentiated_twice(self):
        self.check("""
            x = torch.tensor([2.0, 3.0], requires_grad=True)
            g, = torch.autograd.grad((x.relu() * 3).sum(), x, create_graph=True)
            (g ** 2).sum().backward()
            answer = has(why("gradient", x.grad), "aten.threshold_backward", "slope of relu", "its own derivative is zero")
            assert "not above zero" not in answer["sentence"], answer
            y = torch.tensor([2.0, -3.0], requires_grad=True)
            g, = torch.autograd.grad((y.relu() ** 2).sum(), y, create_graph=True)
            (g ** 2).sum().backward()
            has(why("gradient", y.grad), "50 %", "aten.relu", "its input is not above zero there")
        """)

    def test_targets_that_are_ignored(self):
        self.check("""
            F = torch.nn.functional
            scores = torch.zeros(2, 3, requires_grad=True)
            F.cross_entropy(scores, torch.tensor([-100, -100]), reduction="sum").backward()
            has(why("gradient", scores.grad), "aten.nll_loss_forward", "all 2 targets are -100, its ignore_index")
            scores = torch.zeros(3, 2, requires_grad=True)
            F.cross_entropy(scores, torch.tensor([7, 1, 7]), ignore_index=7).backward()
            answer = has(why("gradient", scores.grad), "67 %", "4 are in rows whose target is 7, its ignore_index (2 of 3 targets)")
            scores = torch.zeros(2, 2, requires_grad=True)
            F.nll_loss(scores, torch.tensor([0, 1]), weight=torch.tensor([0.0, 1.0])).backward()
            answer = has(why("gradient", scores.grad), "75 %", "1 is of targets whose class has the weight 0", "2 are of other classes")
            assert "ignore" not in answer["sentence"], answer
        """)

    def test_the_padding_of_an_embedding(self):
        self.check("""
            for padding, said in ((0, "2 are of row 0, its padding_idx"), (None, None)):
                table = torch.nn.Embedding(5, 2, padding_idx=padding)
                table(torch.tensor([0, 1])).sum().backward()
                answer = has(why("gradient", table.weight.grad), "swallowed in aten.embedding", "not picked")
                assert (said in answer["sentence"]) if said else "padding" not in answer["sentence"], answer
        """)

    def test_a_division_that_rounds(self):
        self.check(ASKED + """
of = asked([3.0, 5.0])
for mode in ("floor", "trunc"):
    has(of(lambda x: torch.div(x, 2, rounding_mode=mode)), "aten.div.Tensor_mode", f'rounding_mode="{mode}"', "flat everywhere")
has(of(lambda x: torch.div(x, 2)), "none of its 2 elements is zero")
has(asked([0.0, 1.0])(lambda x: x ** 2), "50 %", "its input self is zero there")
""")

    def test_a_write_through_data_is_named(self):
        self.check("""
            x = torch.ones(4, requires_grad=True)
            y = x * x
            x.data.zero_()
            y.sum().backward()
            answer = has(why("gradient", x.grad), "swallowed in aten.mul.Tensor", "aten.zero_", "changed what this op keeps")
            assert reason(answer, "overwrote")["line"] == line_of("x.data.zero_()"), answer
            x, w = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
            w.data.zero_()
            (x * w).sum().backward()
            answer = has(why("gradient", x.grad), "the other factor is zero there", "aten.zero_", "wrote its values")
            assert reason(answer, "zero factor")["line"] == line_of("w.data.zero_()"), answer
        """)


if __name__ == "__main__":
    main()

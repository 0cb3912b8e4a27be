"""*Where was this NaN or infinity born?* of PyTorch programs."""
from torch_interpreter import main
from why_programs import WhyPrograms, quiet


class Births(WhyPrograms):
    def test_the_sample_about_where(self):
        model = quiet("where_nan")
        self.check("\n" + model + '''
arrived, = records(op="autograd.AccumulateGrad")
answer = has(why("birth", arrived), "aten.div.Tensor", "0.0 / 0.0", "aten.sqrt", "aten.where.self", "did not choose that element")
assert answer["sentence"] == why("birth", points.grad)["sentence"]
''')

    def test_a_nan_is_born_in_the_vjp_of_what_where_did_not_choose(self):
        self.check("""
            x = torch.tensor([4.0, 0.0, 9.0], requires_grad=True)
            root = torch.sqrt(x)
            y = torch.where(x > 0, root, torch.zeros_like(x))
            y.sum().backward()
            answer = has(why("birth", x.grad), "The NaN at [1] was born in aten.div.Tensor", "0.0 / 0.0", "aten.sqrt",
                         f"(op {records(op='aten.where.self', kind='op')[0]['number']}, line {line_of('torch.where')}) did not choose")
            assert reason(answer, "forward op")["line"] == line_of("torch.sqrt"), answer
            assert reason(answer, "VJP")["op"] == "aten.sqrt", answer
            has(why("check", x.grad), "is wrong", "aten.sqrt", "0 times a slope that is not a finite number")
        """)

    def test_a_nan_of_the_forward_pass(self):
        self.check("""
            x = torch.tensor([1.0, -1.0])
            y = (x.log() * 2).sum()
            answer = has(why("birth", y), "born in aten.log", "log(-1.0)", "there is no real log")
            assert answer["reasons"][0]["line"] == line_of("x.log()"), answer
            z = torch.nn.functional.layer_norm(torch.tensor([[1.0, 2.0]]) / 0, [2])
            has(why("birth", z), "aten.div.Tensor", "1.0 / 0", "0")
            has(why("birth", torch.full([2], float("nan")) * 1), "aten.full", "its argument fill_value is nan")
            has(why("birth", torch.empty(3).cauchy_(0, float("inf")) * 2), "aten.cauchy_", "its argument sigma is inf")
            has(why("birth", torch.zeros(2).add(1)), "All of the 2 elements are finite")
        """)

    def test_a_nan_that_was_written_through_a_view(self):
        self.check("""
            x = torch.zeros(4)
            x[1:].sub_(1).sqrt_()
            y = x * 2
            answer = has(why("birth", y), "born in aten.sqrt_", "sqrt_(-1.0)")
            assert answer["reasons"][0]["line"] == line_of("sqrt_()"), answer
        """)

    def test_infinity_times_zero_in_a_product_of_matrices(self):
        self.check("""
            a, b = torch.ones(2, 3), torch.zeros(3, 2)
            a[1, 2] = float("inf")
            has(why("birth", a @ b), "The NaN at [1, 0] was born in aten.mm", "0 · ∞ is undefined")
        """)

    def test_a_nan_is_followed_to_the_view_that_has_its_place(self):
        self.check("""
            x = torch.ones(4)
            left, right = x[:2], x[2:]
            right.sub_(2).sqrt_()
            left.sub_(2).log_()
            whole = x * 1
            has(why("birth", whole, [1]), "born in aten.log_", "log_(-1.0)")
            has(why("birth", whole, [3]), "born in aten.sqrt_", "sqrt_(-1.0)")
            has(why("birth", left * 1), "born in aten.log_")
            has(why("birth", right * 1), "born in aten.sqrt_")
        """)

    def test_a_nan_of_a_gradient_goes_through_a_write_into_a_view(self):
        self.check("""
            x = torch.tensor([1.0, 0.0, 4.0], requires_grad=True)
            y = x.sqrt() * 1
            y[1:].mul_(0)
            y.sum().backward()
            answer = has(why("birth", x.grad), "The NaN at [1] was born in aten.div.Tensor", "aten.sqrt")
        """)


if __name__ == "__main__":
    main()

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

    def test_a_softmax_of_a_row_that_is_masked_as_a_whole(self):
        self.check("""
            scores = torch.randn(3, 4)
            shown = torch.ones(3, 4).bool()
            shown[1] = False
            masked = scores.masked_fill(~shown, float("-inf"))
            for made in (masked.softmax(-1), masked.log_softmax(-1)):
                answer = has(why("birth", made), "The NaN at [1, 0] was born in", "all 4 elements of the row are -inf", "masked as a whole")
                assert reason(answer, "cause")["op"] == "aten.masked_fill.Scalar", answer
            down = torch.zeros(4, 2, 3)
            down[:, 0, 2] = float("-inf")
            has(why("birth", down.softmax(0)), "The NaN at [0, 0, 2]", "all 4 elements of the row are -inf")
            big = torch.tensor([[1.0, float("inf")], [0.0, float("-inf")]])
            answer = has(why("birth", big.softmax(-1)), "the row has an element of inf", "∞ − ∞")
            assert "masked" not in answer["sentence"], answer
            has(why("birth", big.softmax(-1), [1, 0]), "a finite number")
            later = torch.tensor([[0.0, float("nan")], [float("-inf"), float("-inf")]]).softmax(-1)
            has(why("birth", later, [1, 0]), "all 2 elements of the row are -inf")
        """)

    def test_a_loss_without_a_target_that_counts(self):
        self.check("""
            import torch.nn.functional as F
            scores = torch.randn(4, 3)
            has(why("birth", F.cross_entropy(scores, torch.full((4,), -100))), "aten.nll_loss_forward", "none of its 4 targets counts",
                "-100 (ignore_index)")
            has(why("birth", F.cross_entropy(scores, torch.full((4,), 1), ignore_index=1)), "each is 1 (ignore_index)")
            weighted = F.cross_entropy(scores, torch.zeros(4).long(), weight=torch.tensor([0.0, 1.0, 1.0]))
            has(why("birth", weighted), "weights of the classes of its 4 targets add up to 0")
            has(why("birth", F.cross_entropy(scores[:0], torch.zeros(0).long())), "there are no targets")
            scores[2, 0] = float("nan")
            answer = has(why("birth", F.cross_entropy(scores, torch.tensor([0, -100, 1, 2]))), "aten.fill_.Scalar", "its argument value is")
            assert "ignore_index" not in answer["sentence"], answer
        """)

    def test_means_of_nothing_and_deviations_of_one_number(self):
        self.check("""
            nothing = torch.randn(4)[:0]
            has(why("birth", nothing.mean()), "aten.mean", "no elements (shape (0,))", "the mean of nothing is 0 / 0")
            has(why("birth", torch.nn.functional.mse_loss(torch.zeros(0, 3), torch.zeros(0, 3))), "no elements (shape (0, 3))")
            one = torch.tensor([[2.0], [3.0]])
            has(why("birth", one[0].std()), "aten.std", "1 − 1", "the deviation of 1 number is 0 / 0")
            has(why("birth", one.var(1)), "aten.var", "the deviation of 1 number is 0 / 0")
            has(why("birth", torch.std_mean(one, 1)[0]), "the deviation of 1 number is 0 / 0")
            has(why("birth", one.var(1, correction=0)), "finite: there is no NaN")
        """)

    def test_a_division_by_a_norm_of_zeros(self):
        self.check("""
            zeros = torch.zeros(2, 3)
            unit = zeros / zeros.norm(dim=1, keepdim=True)
            norm = records(op="aten.linalg_vector_norm")[0]["number"]
            has(why("birth", unit), "0.0 / 0.0", f"The divisor was made by aten.linalg_vector_norm (op {norm}",
                f"line {line_of('unit =')}", "the norm of nothing but zeros")
            has(why("birth", torch.nn.functional.normalize(zeros, eps=0.0)), "the norm of nothing but zeros")
            same = torch.full((3,), 2.0)
            has(why("birth", (same - same.mean()) / same.std()), "the deviation of numbers that are all alike")
            answer = has(why("birth", zeros / torch.tensor(0.0)), "0.0 / 0.0")
            assert "divisor" not in answer["sentence"], answer
        """)

    def test_each_birth_has_its_own_forward_op(self):
        self.check("""
            w = torch.zeros(3, requires_grad=True)
            (w * w).sum().sqrt().backward()
            answer = has(why("birth", w.grad), "born in aten.mul.Tensor", "inf · 0.0", "The infinity in it was born in aten.div.Tensor")
            first, second = answer["sentence"].split("The infinity in it")
            assert "Its forward op is aten.mul.Tensor" in first and "The forward op of that infinity is aten.sqrt" in second, answer
        """)

    def test_the_cause_of_a_nan_in_a_softmax_is_in_its_own_row(self):
        for dim, log in ((1, ""), (0, ""), (1, "log_")):
            self.check(f"""
                gradient, scores = torch.ones(4, 4), torch.randn(4, 4, requires_grad=True)
                gradient[0, 3] = gradient[3, 1] = float("inf")
                torch.{log}softmax(scores, {dim}).backward(gradient / torch.ones(4, 4))
                bad = scores.grad.isnan().nonzero().tolist()
                assert bad, scores.grad
                for row, column in bad:
                    answer = has(why("birth", scores.grad, (row, column)), "born in aten._{log}softmax_backward_data")
                    born = reason(answer, "born")
                    shown = [one for one in born["operands"] if one.startswith("grad_output[")]
                    assert shown and all(f"[{{row}}, " in one if {dim} else f", {{column}}]" in one for one in shown), (row, column, born)
            """)

    def test_only_of_ops_by_element_the_operands_have_the_same_place(self):
        self.check("""
            a, b = torch.randn(2, 2, requires_grad=True), torch.tensor([[float("inf"), 0.0], [1.0, 1.0]])
            (a @ b).backward(torch.tensor([[0.0, 1.0], [1.0, 1.0]]))
            answer = has(why("birth", a.grad), "Its forward op is aten.mm")
            assert "self[" not in answer["sentence"], answer
        """)

    def test_a_gradient_of_nan_that_came_in_is_no_zero(self):
        self.check("""
            x = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
            ((x * 0) * torch.tensor([float("nan"), 1.0, 0.0])).sum().backward()
            has(why("birth", x.grad), "came in with a value from Python")
            answer = why("check", x.grad)
            assert "0 times a slope" not in answer["sentence"] and "is wrong" not in answer["sentence"], answer
            assert "the gradient that came in" in answer["sentence"], answer
            y = torch.tensor([0.0, 4.0], requires_grad=True)  # here it is so
            (y.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()
            has(why("birth", y.grad), "The gradient that came in there is 0", "0 times a slope")
            assert "0 times a slope" in why("check", y.grad)["sentence"], why("check", y.grad)
        """)


if __name__ == "__main__":
    main()

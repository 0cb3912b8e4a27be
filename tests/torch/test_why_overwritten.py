"""*Which op overwrote it?* of PyTorch programs."""
from torch_interpreter import main
from why_programs import WhyPrograms, quiet


class Overwritten(WhyPrograms):
    def test_a_backward_pass_that_refuses_leads_to_the_write_and_to_the_op_that_keeps(self):
        self.check("""
            a = torch.ones(3, requires_grad=True)
            b = a * 2
            c = b * b
            b.add_(1)
            answer = has(refused(c.sum().backward), "overwrote", "its input self", "(3,)")
            wrote, keeps = reason(answer, "overwrote"), reason(answer, "keeps it")
            assert (wrote["op"], wrote["line"]) == ("aten.add_.Tensor", line_of("b.add_(1)")), answer
            assert (keeps["op"], keeps["line"]) == ("aten.mul.Tensor", line_of("c = b * b")), answer
            assert preview(records()[keeps["record"] - 1]["inputs"][0]) == "2. 2. 2."
            failed = [one for one in records(kind="vjp") if one["state"] == "failed"]
            assert why("gradient", failed[0])["sentence"] == answer["sentence"]
            assert why("gradient", a)["sentence"] == answer["sentence"]
        """)

    def test_a_write_through_a_view_leads_to_the_view(self):
        self.check("""
            z = torch.zeros(4, 3, requires_grad=True)
            opening = torch.sigmoid(z)
            first = opening[:, 0]
            first.fill_(1)
            answer = has(refused((opening * 2).sum().backward), "its result, (4, 3)", "through another tensor on the same memory")
            assert reason(answer, "overwrote")["line"] == line_of("first.fill_"), answer
            assert reason(answer, "keeps it")["line"] == line_of("torch.sigmoid"), answer
            assert reason(answer, "same memory")["line"] == line_of("opening[:, 0]"), answer
        """)

    def test_a_step_of_an_optimiser_between_two_backward_passes(self):
        self.check("""
            first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            optimizer = torch.optim.SGD(second.parameters(), lr=0.1, foreach=False)
            out = second(first(torch.ones(2, 3))).sum()
            out.backward(retain_graph=True)
            optimizer.step()
            answer = has(refused(out.backward), "overwrote what aten.addmm", "its input mat2")
            assert reason(answer, "overwrote")["line"] == line_of("optimizer.step()"), answer
        """)

    def test_writes_that_pytorch_does_not_count_are_told_apart(self):
        self.check("""
            x = torch.ones(4, requires_grad=True) * 2
            y = x.exp()
            y[0] = 5
            y.data.mul_(3)
            answer = refused(y.sum().backward)
            assert reason(answer, "overwrote")["line"] == line_of("y[0] = 5"), answer
            assert "by PyTorch's count not into this tensor" in answer["sentence"] and answer["complete"], answer
        """)

    def test_several_writes_and_the_one_that_did_not_matter(self):
        self.check("""
            x = torch.ones(4, requires_grad=True)
            other = torch.ones(4)
            y = x.exp()
            other.add_(1)
            y.add_(1)
            y.mul_(2)
            answer = has(refused(y.sum().backward), "the first of 2 writes")
            wrote = [one["line"] for one in answer["reasons"] if one["role"] == "overwrote"]
            assert wrote == [line_of("y.add_(1)"), line_of("y.mul_(2)")], answer
        """)

    def test_another_exception_in_a_backward_pass_is_told(self):
        self.check("""
            class Fails(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 2
                @staticmethod
                def backward(ctx, gradient): raise ValueError("on purpose")
            x = torch.ones(2, requires_grad=True)
            try:
                Fails.apply(x).sum().backward()
            except ValueError:
                pass
            assert "ended with an exception" in why("gradient", records(kind="playback")[-1])["sentence"]
            assert "on purpose" in why("gradient", x)["sentence"]
        """)

    def test_the_sample_about_an_overwritten_activation(self):
        model = quiet("overwritten_activation")
        self.check("\n" + model + '''
answer = has(refused(loss.backward), "aten.fill_", "aten.sigmoid", "its result, (32, 8)")
lines = [(one["role"], one["line"]) for one in answer["reasons"][:3]]
assert lines == [("overwrote", line_of("first.fill_(1)")), ("keeps it", line_of("opening = torch.sigmoid(gate(x))")),
                 ("same memory", line_of("first = opening[:, 0]"))], lines
''')


if __name__ == "__main__":
    main()

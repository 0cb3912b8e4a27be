"""Of values that PyTorch's optimisers wrote, and of random numbers: what made them, and how exact they are."""
from torch_interpreter import main
from why_programs import WhyPrograms

TRAINED = """
            torch.manual_seed(0)
            model = torch.nn.Linear(3, 2)
            optimizer = {optimizer}
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.randn(4, 3)).square().sum().backward()
                optimizer.step()
"""


class Updates(WhyPrograms):
    def test_what_an_optimiser_wrote_leads_to_gradient_and_former_value(self):
        for optimizer, op in (("torch.optim.SGD(model.parameters(), 0.1)", "aten.add_.Tensor"),
                              ("torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)", "aten.add_.Tensor"),
                              ("torch.optim.SGD(model.parameters(), 0.1, foreach=True)", "aten._foreach_add_.List"),
                              ("torch.optim.Adam(model.parameters(), 0.1)", "aten.addcdiv_"),
                              ("torch.optim.Adam(model.parameters(), 0.1, foreach=True)", "aten._foreach_addcdiv_.ScalarList")):
            with self.subTest(optimizer):
                self.check(TRAINED.format(optimizer=optimizer) + f"""
            answer = has(why("contributions", model.weight, [0, 1]), "was made by {op}", "The update takes a gradient",
                         "that came with the backward pass (op ")
            write = [one for one in records(op="{op}") if one["inputs"][0]["name"] == "weight"][-1]
            told = [one for one in answer["reasons"] if one["record"] == write["number"]]
            former, = [one for one in told if one["operands"][0].startswith("self[0, 1] = ")]
            assert former["tensor"] == write["inputs"][0]["id"], (answer, write)
            gradient = reason(answer, "gradient")
            assert gradient["record"] == records(kind="playback")[-1]["number"] and gradient["line"] == line_of(".backward()"), answer
            assert abs(float(gradient["value"]) - model.weight.grad[0, 1].item()) < 1e-6, (gradient, model.weight.grad)
            answer = why("exactness", model.weight)
            assert "digits of it are correct" in answer["sentence"] and "values that variables had before" in answer["sentence"], answer
            assert "No op computed it" not in answer["sentence"], answer
            """)

    def test_of_many_tensors_of_one_op_each_has_its_own_operands(self):
        self.check(TRAINED.format(optimizer="torch.optim.SGD(model.parameters(), 0.1, foreach=True)") + """
            answer = has(why("contributions", model.bias, [1]), "aten._foreach_add_.List")
            told = [one["operands"][0] for one in answer["reasons"] if one["op"] == "aten._foreach_add_.List"]
            assert len(told) == 2 and told[0].startswith(("self[1] = ", "other[1] = ")), told
            gradient = [one for one in answer["reasons"] if one["role"] == "gradient"][0]
            assert abs(float(gradient["value"]) - model.bias.grad[1].item()) < 1e-6, (gradient, model.bias.grad)
        """)

    def test_updates_by_hand_and_values_that_no_update_made(self):
        self.check("""
            w = torch.tensor([1.0, 2.0], requires_grad=True)
            (w * torch.tensor([3.0, 4.0])).sum().backward()
            before = why("contributions", w, [1])
            assert "made by no op" in before["sentence"], before
            with torch.no_grad():
                w -= 0.5 * w.grad
            answer = has(why("contributions", w, [1]), "0.0 at [1], was made by aten.sub_.Tensor", "The update takes a gradient")
            assert reason(answer, "gradient")["value"] == "4.0", answer
            with torch.no_grad():
                w.mul_(2).add_(1)
            answer = has(why("contributions", w, [1]), "was made by aten.add_.Tensor")
            assert "The update takes" not in answer["sentence"], answer
        """)

    def test_gradients_of_several_backward_passes(self):
        self.check("""
            w = torch.tensor([1.0, 2.0], requires_grad=True)
            (w * 3).sum().backward()
            (w * 5).sum().backward()
            answer = has(why("contributions", w.grad), "is the sum of 2 contributions", "2 backward passes")
            assert sorted(one["value"] for one in answer["reasons"] if one["role"].startswith("use")) == ["norm 4.24", "norm 7.07"], answer
            has(why("exactness", w.grad), "all of its digits are correct")
            v = torch.tensor([1.0, 2.0], requires_grad=True)
            (v * 3 + v * 5).sum().backward()
            answer = has(why("contributions", v.grad), "is the sum of 2 contributions")
            assert "backward passes" not in answer["sentence"], answer
        """)

    def test_what_cannot_run_again_is_said_first(self):
        self.check("""
            recurrent = torch.nn.LSTM(3, 4)
            output, _ = recurrent(torch.randn(2, 5, 3))
            made = records(op="aten.mkldnn_rnn_layer")
            answer = why("exactness", output * 3)
            if made:  # where PyTorch was built with it
                assert answer["sentence"].startswith("Not all of it is covered: aten.mkldnn_rnn_layer (op "), answer
                assert not answer["complete"], answer
                assert "Beside the other ops in float64" in answer["sentence"], answer
            plain = has(why("exactness", torch.randn(3) * 3), "Beside the same ops in float64")
            assert "Not all of it" not in plain["sentence"], plain
        """)

    def test_an_op_without_a_kernel_for_float64_is_said(self):
        self.check("""
            sampled = torch.ops.aten._grid_sampler_2d_cpu_fallback(torch.randn(1, 1, 4, 4), torch.zeros(1, 2, 2, 2), 0, 0, False)
            answer = lacks(why("exactness", sampled * 3), "no kernel for float64", "Beside the other ops in float64")
            assert answer["sentence"].startswith("Not all of it is covered: aten._grid_sampler_2d_cpu_fallback (op "), answer
        """)

    def test_random_numbers_are_exactly_what_was_drawn(self):
        self.check("""
            filled, drawn = torch.empty(4).uniform_(), torch.rand(4)
            for tensor, op in ((filled, "aten.uniform_"), (drawn, "aten.rand"), (torch.randint(0, 5, (3,)), "aten.randint")):
                has(why("exactness", tensor), f"It is what {op}", "drew", "no rounding to find")
                has(why("contributions", tensor), f"was drawn at random by {op}", "it comes from no other value")
            answer = has(why("exactness", drawn * 3), "Beside the same ops in float64", "The numbers that aten.rand", "drew count as exact")
            has(why("contributions", torch.multinomial(torch.ones(5), 2)), "was drawn at random by aten.multinomial", "how likely")
            dropped = has(why("exactness", torch.nn.functional.dropout(torch.ones(6).exp(), 0.5)), "digits")
            assert "cannot run again" not in dropped["sentence"], dropped
            plain = has(why("contributions", torch.zeros(3)), "which reads no other values")
            assert "random" not in plain["sentence"], plain
        """)


if __name__ == "__main__":
    main()

"""What *Health* finds in the ops of PyTorch programs: for each rule one with the fault, and one without."""
import textwrap

from torch_health import HealthPrograms
from torch_interpreter import main

class HealthRules(HealthPrograms):
    def test_units_are_channels_of_images(self):
        for bias, asked in ((-100, 'has("dead units", "1 (aten.relu)", "75 %", "4 channels")'), (0, 'quiet("dead units")')):
            with self.subTest(bias):
                self.check(f"""
                    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
                    with torch.no_grad():
                        model[0].bias[:3] += {bias}
                    pictures = torch.randn(64, 1, 6, 6)
                    train(model.parameters(), lambda: F.cross_entropy(model(pictures), classes))
                    {asked}
                """)

    def test_losses_whose_operands_broadcast(self):
        for loss, op in (("F.mse_loss(model(x), y[:, 0])", "aten.mse_loss"), ("F.smooth_l1_loss(model(x), y[:, 0])", "aten.smooth_l1_loss"),
                         ("F.l1_loss(model(x), y[:, 0])", "aten.sub"), ("(model(x) - y[:, 0]).square().mean()", "aten.sub")):
            with self.subTest(loss):
                self.check(f"""
                    model = nn.Linear(4, 1)
                    train(model.parameters(), lambda: {loss})
                    has("broadcast from both sides", "{op}", "(64, 1)", "(64,)", "make (64, 64)", "4,096 pairs", severity="error")
                """)
        self.check("""
            model = nn.Linear(4, 1)
            train(model.parameters(), lambda: F.mse_loss(model(x), y) + F.l1_loss(model(x).squeeze(1), y[:, 0]))
            quiet("broadcast from both sides")
        """)

    def test_a_sigmoid_before_a_loss_that_takes_logits(self):
        twice = 'has("applied twice", "aten.binary_cross_entropy_with_logits", "aten.sigmoid", "50 to 73 %")'
        for sigmoid, asked in (("nn.Sigmoid()", twice), ("nn.Identity()", 'quiet("applied twice")')):
            with self.subTest(sigmoid):
                self.check(f"""
                    model = nn.Sequential(nn.Linear(4, 1), {sigmoid})
                    train(model.parameters(), lambda: F.binary_cross_entropy_with_logits(model(x), (y > 0).float()))
                    {asked}
                """)

    def test_modes_of_dropout_and_batch_normalisation(self):
        network = ("model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))\n"
                   "optimizer = torch.optim.SGD(model.parameters(), 0.01)\n")
        self.check(network + textwrap.dedent("""
            for _ in range(20):
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
                with torch.no_grad():
                    model(x)
            sentences = sorted(one["sentence"] for one in found("training mode in evaluation"))
            assert len(sentences) == 2 and "1 (aten.native_batch_norm)" in sentences[0] and "2 (dropout)" in sentences[1], sentences
            assert all("model.eval()" in one["cure"] for one in found("training mode in evaluation"))
        """))
        self.check(network + textwrap.dedent("""
            for _ in range(20):
                model.train()
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
                model.eval()
                with torch.no_grad():
                    model(x)
            quiet("training mode in evaluation", "evaluation mode in training")
        """))

    def test_training_in_evaluation_mode(self):
        for mode, asked in (("eval", 'has("evaluation mode in training", "initial values")'),
                            ("train", 'quiet("evaluation mode in training")')):
            with self.subTest(mode):
                self.check(f"""
                    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)).{mode}()
                    train(model.parameters(), lambda: F.mse_loss(model(x), y))
                    {asked}
                """)

    def test_statistics_that_have_moved_may_be_frozen(self):
        self.check("""
            model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
            with torch.no_grad():
                model(x)
            model.eval()
            train(model.parameters(), lambda: F.mse_loss(model(x), y))
            quiet("evaluation mode in training")
        """)

    def test_inputs_that_are_not_normalised(self):
        for layer in ("nn.Linear(4, 8)", "nn.Linear(4, 8, bias=False)"):
            with self.subTest(layer):
                self.check(f"""
                    model = nn.Sequential({layer}, nn.ReLU(), nn.Linear(8, 1))
                    pixels = torch.rand(64, 4) * 255
                    train(model.parameters(), lambda: F.mse_loss(model(pixels), y), rate=1e-7)
                    has("unnormalised data", "64×4", "root mean square")
                """)
        self.check("""
            model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
            pictures = torch.rand(64, 1, 6, 6) * 255
            train(model.parameters(), lambda: F.cross_entropy(model(pictures), classes), rate=1e-7)
            has("unnormalised data", "aten.convolution", "64×1×6×6")
        """)
        self.check("""
            model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
            train(model.parameters(), lambda: F.mse_loss(model(x), y))
            quiet("unnormalised data")
        """)

    def test_inputs_normalised_over_the_wrong_axis(self):
        for how, asked in (("1, keepdim=True", 'has("normalised over the wrong axis", "aten.std", "each example")'),
                           ("0, keepdim=True", 'quiet("normalised over the wrong axis")')):
            with self.subTest(how):
                self.check(f"""
                    raw = torch.tensor((x * torch.tensor([1.0, 100.0, 1.0, 1000.0])).tolist())
                    inputs = (raw - raw.mean({how})) / raw.std({how})
                    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
                    train(model.parameters(), lambda: F.mse_loss(model(inputs), y))
                    {asked}
                """)

    def test_a_softmax_over_the_examples(self):
        wrong = 'has("softmax over examples", "aten._log_softmax", severity="error")'
        for axis, asked in ((0, wrong), (1, 'quiet("softmax over examples")')):
            with self.subTest(axis):
                self.check(f"""
                    model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim={axis}))
                    train(model.parameters(), lambda: F.nll_loss(model(x), classes))
                    {asked}
                """)

    def test_a_loss_that_is_a_guess(self):
        self.check("""
            model = nn.Linear(4, 3)
            with torch.no_grad():
                model.weight.zero_(), model.bias.zero_()
            train(model.parameters(), lambda: F.cross_entropy(model(x), classes), steps=40, rate=1e-9)
            has("loss at chance", "ln(3) = 1.1")
        """)
        self.check("""
            model = nn.Linear(4, 3)
            train(model.parameters(), lambda: F.cross_entropy(model(x), x[:, :3].argmax(1)), steps=40, rate=0.5)
            quiet("loss at chance")
        """)

    def test_a_mask_the_wrong_way_round(self):
        for mask, asked in (("triu(1)", 'has("inverted mask", "aten.")'), ("tril()", 'quiet("inverted mask")')):
            scores = f"scores = (model(text) @ text.transpose(1, 2)).masked_fill(~torch.ones(5, 5).{mask}.bool(), -1e30)"
            programs = {"softmax": f"{scores}\n                        return (scores.softmax(-1) @ text).square().mean()",
                        "fused": f"""seen = torch.ones(5, 5).{mask}.bool()
                        seen[-1] = True
                        query, key = model(text)[:, None], text[:, None]
                        return F.scaled_dot_product_attention(query, key, key, attn_mask=seen).square().mean()"""}
            for name, program in programs.items():
                with self.subTest(name, mask=mask):
                    self.check(f"""
                    model, text = nn.Linear(8, 8), torch.randn(2, 5, 8)
                    def loss():
                        {program}
                    train(model.parameters(), loss)
                    {asked}
                    """)

    def test_labels_that_are_what_the_network_is_given(self):
        for inputs, labels, asked in (("ids", "ids", 'has("labels are the inputs", "aten.embedding", severity="note")'),
                                      ("ids[:, :-1]", "ids[:, 1:]", 'quiet("labels are the inputs")')):
            with self.subTest(labels):
                self.check(f"""
                    embedding, last = nn.Embedding(10, 8), nn.Linear(8, 10)
                    ids = torch.randint(0, 10, (4, 7))
                    train([*embedding.parameters(), *last.parameters()],
                          lambda: F.cross_entropy(last(embedding({inputs})).flatten(0, 1), {labels}.flatten()))
                    {asked}
                """)

    def test_parameters_that_the_optimiser_does_not_have(self):
        frozen = 'assert len(found("never updated")) == 2 and "requires_grad_(False)" in found("never updated")[0]["cure"]'
        for parameters, asked in (("model[2].parameters()", frozen),
                                  ("model.parameters()", 'quiet("never updated")')):
            with self.subTest(parameters):
                self.check(f"""
                    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
                    train({parameters}, lambda: F.mse_loss(model(x), y))
                    {asked}
                """)

    def test_parameters_that_are_made_anew(self):
        self.check("""
            for _ in range(20):
                w = torch.zeros(4, 1, requires_grad=True)
                F.mse_loss(x @ w, y).backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
            has("variable re-created each step", "w (4, 1)", severity="error")
        """)
        self.check("""
            model = nn.Linear(4, 1)
            def loss():
                inputs = torch.randn(64, 4).requires_grad_()  # of a gradient penalty, say
                made = model(inputs)
                slope, = torch.autograd.grad(made.sum(), inputs, create_graph=True)
                return F.mse_loss(made, y) + slope.square().mean()
            train(model.parameters(), loss)
            quiet("variable re-created each step")
        """)

    def test_a_parameter_that_many_views_are_made_of_changes_with_updates_alone(self):
        self.check("""
            w = torch.randn(4, 4, requires_grad=True)
            def loss():
                state = x
                for _ in range(100):
                    state = (state @ w.t()).tanh()
                return F.mse_loss(state, x)
            train([w], loss, steps=5)
            quiet("no learning")
            values = {record["inputs"][0]["id"] for record in records(op="aten.t", kind="op") if record["inputs"][0]["name"] == "w"}
            assert len(values) == 5, values
        """)

    def test_updates_that_go_up_the_gradient(self):
        self.check("""
            w = torch.zeros(4, 1, requires_grad=True)
            for _ in range(30):
                F.mse_loss(x @ w, y).backward()
                with torch.no_grad():
                    w += 0.01 * w.grad
                w.grad = None
            has("loss", "rises", "go up the gradient", severity="error")
        """)

    def test_gradients_that_the_program_wrote(self):
        function = """
            class Twice(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 2
                @staticmethod
                @torch.autograd.function.once_differentiable
                def backward(ctx, gradient): return gradient * 2
            model = nn.Linear(4, 1)
        """
        self.check(textwrap.dedent(function) + textwrap.dedent("""
            train(model.parameters(), lambda: F.mse_loss(Twice.apply(model(x)), y))
            has("unchecked custom gradient", "autograd.Twice", severity="note")
        """))
        self.check("""
            from torch.utils.checkpoint import checkpoint
            model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            train(model.parameters(), lambda: F.mse_loss(checkpoint(model, x, use_reentrant=True) + model(x), y))
            quiet("unchecked custom gradient", "wrong custom gradient")
        """)

    def test_buffers_are_variables_that_no_optimiser_updates(self):
        self.check("""
            model = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2), nn.Linear(2, 1))
            train(model.parameters(), lambda: F.mse_loss(model(x), y), steps=3)
            names = lambda op: [[one["name"] for one in record["inputs"] if one and one["name"]] for record in records(op=op, kind="op")]
            norms = names("aten.native_batch_norm")
            assert norms == [["1.weight", "1.bias", "1.running_mean (buffer)", "1.running_var (buffer)"]] * 3, norms
            means = [preview(record["inputs"][3]) for record in records(op="aten.native_batch_norm", kind="op")]
            assert means[0].startswith("0. 0.") and len(set(means)) == 3, means
            assert ["1.num_batches_tracked (buffer)"] in names("aten.add_.Tensor")
            sources = {one["name"] for record in records(kind="playback") for one in record["inputs"] if one}
            assert not any("buffer" in name for name in sources)
            model.eval()
            with torch.no_grad():
                model(x), model(x)
            first, second = [record["inputs"][3] for record in records(op="aten.native_batch_norm", kind="op")[-2:]]
            assert preview(first) == preview(second) and second["name"] == "1.running_mean (buffer)", (first, second)
            assert not [one for one in debug.health_findings(9) if "buffer" in one["sentence"]]
        """)


if __name__ == "__main__":
    main()

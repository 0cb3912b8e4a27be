"""What is known of training steps of PyTorch programs: their variables, updates and gradients, and what Health says of them."""
from recorded_programs import RecordedPrograms
from torch_interpreter import main

PRELUDE = """
from torch import nn

def rules(steps=30):
    return {(one["rule"], one["severity"]): one for one in debug.health_findings(steps)}

def train(model, steps, optimizer, loss, forget=False):
    torch.manual_seed(1)
    x = torch.randn(32, 8)
    for _ in range(steps):
        if not forget:
            optimizer.zero_grad()
        value = loss(model(x), x)
        value.backward()
        optimizer.step()
    return float(value.detach())
"""


class Training(RecordedPrograms):
    def check(self, program, before=""):
        super().check(program, before + PRELUDE)

    def test_parameters_of_a_second_model_begin_with_its_name(self):
        self.check("""
            encoder, head = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh()), torch.nn.Linear(4, 1)
            head(encoder(torch.ones(2, 3))).sum().backward()
            names = {one["inputs"][0]["name"] for one in records(op="autograd.AccumulateGrad")}
            assert names == {"0.weight", "0.bias", "head.weight", "head.bias"}, names
        """)

    def test_parameters_have_their_modules_names_before_and_after_updates(self):
        self.check("""
            model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
            train(model, 2, torch.optim.SGD(model.parameters(), 0.1), lambda made, x: made.square().mean())
            seen = [[one["name"] for one in record["inputs"] if one["name"]] for record in records(op="aten.addmm", kind="op")]
            assert seen == [["0.bias"], ["2.bias"]] * 2, seen
            first, second = [record["inputs"][0]["id"] for record in records(op="aten.addmm", kind="op")[::2]]
            assert first != second, "an update makes another value"
        """)

    def test_a_leaf_has_the_programs_own_name(self):
        self.check("""
            w = torch.ones(3, requires_grad=True)
            b = torch.zeros(3).requires_grad_()
            loss = (w * 2 + b).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w * 3
            named = {one["name"] for record in records() for one in record["inputs"] if one and one["name"]}
            assert named == {"w", "b"}, named
            last = records(op="aten.mul.Tensor", kind="op")[-1]["inputs"][0]
            assert last["name"] == "w" and last["preview"].startswith("[0.8"), last
        """)

    def test_two_models_with_the_same_names_are_told_apart(self):
        self.check("""
            painter, critic = nn.Sequential(nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 1))
            critic(painter(torch.ones(2, 3))).sum().backward()
            named = {one["name"] for record in records() for one in record["inputs"] if one and one["name"]}
            assert named == {"0.weight", "0.bias", "critic.0.weight", "critic.0.bias"}, named
        """)

    def test_backward_gives_each_leaf_its_gradient(self):
        self.check("""
            w = torch.tensor([1.0, 2.0], requires_grad=True)
            unused = torch.ones(2, requires_grad=True)
            for _ in range(2):  # the second adds to w.grad; the pass itself gives the same
                (w * w + 0 * unused.detach()).sum().backward()
            assert w.grad.tolist() == [4.0, 8.0]
            passes = records(kind="playback")
            assert [[one["preview"] for one in each["outputs"]] for each in passes] == [["[2. 4.]"]] * 2, passes
        """)

    def test_health_finds_nothing_in_a_training_that_goes_well(self):
        for optimizer in ("SGD(model.parameters(), 0.05, momentum=0.9)", "Adam(model.parameters(), 0.01)",
                          "AdamW(model.parameters(), 0.01, foreach=True)"):
            with self.subTest(optimizer):
                self.check(f"""
                    torch.manual_seed(2)
                    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
                    optimizer = torch.optim.{optimizer}
                    train(model, 60, optimizer, lambda made, x: (made - x.sum(1, keepdim=True)).square().mean())
                    assert not rules(60), rules(60)
                """)

    def test_health_finds_gradients_that_are_never_set_back(self):
        self.check("""
            model = nn.Sequential(nn.Linear(8, 1))
            loss = lambda made, x: (made - x.sum(1, keepdim=True)).square().mean()
            train(model, 20, torch.optim.SGD(model.parameters(), 1e-4), loss, forget=True)
            found = rules(20)["gradients added up", "warning"]
            assert "zero_grad()" in found["cure"] and "gradients of 20 steps" in found["sentence"], found
            assert found["line"] > 0, found
        """)

    def test_a_batch_in_parts_is_no_forgotten_zero_grad(self):
        self.check("""
            model = nn.Sequential(nn.Linear(8, 1))
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            x = torch.randn(32, 8)
            for _ in range(20):
                optimizer.zero_grad()
                for part in x.chunk(2):
                    (model(part) - part.sum(1, keepdim=True)).square().mean().backward()
                optimizer.step()
            assert not [rule for rule, _ in rules(20) if rule == "gradients added up"], rules(20)
        """)

    def test_health_finds_a_softmax_before_a_loss_that_takes_logits(self):
        self.check("""
            model = nn.Sequential(nn.Linear(8, 4), nn.Softmax(dim=1))
            loss = lambda made, x: nn.functional.cross_entropy(made, x[:, :4].argmax(1))
            train(model, 20, torch.optim.SGD(model.parameters(), 0.1), loss)
            found = rules(20)["applied twice", "warning"]
            assert "aten._softmax" in found["sentence"] and "aten._log_softmax" in found["sentence"], found
        """)


if __name__ == "__main__":
    main()

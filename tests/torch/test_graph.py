"""Which op made a node of autograd's graph, and what a backward pass shows of hooks, Functions, checkpoints and writes into views."""
from recorded_programs import RecordedPrograms
from torch_interpreter import main

# As before PyTorch 2.15, which brought the hook.
WITHOUT_HOOK = "vars(torch._C._autograd).pop('_push_node_creation_hook', None)"


class Graph(RecordedPrograms):
    def check_both(self, program):
        """Where PyTorch reports its nodes, and where it does not."""
        for before in ("", WITHOUT_HOOK):
            with self.subTest(before=before):
                self.check(program, before)

    def test_a_read_or_detached_result_begins_no_graph(self):
        self.check("""
            w = torch.ones(2, requires_grad=True)
            loss = (w * w).sum()
            loss.detach()
            loss.backward()
            loss.item()
            loss.detach()
            loss.tolist()
            ends = records(op="aten._local_scalar_dense") + records(op="aten.detach")
            outside = [one for one in ends if not one["parent"]]
            assert len(outside) >= 3 and not any(one["tape"] for one in outside), ends
            assert all(one["tape"] for one in records(op="aten.mul.Tensor", backward=False) + records(op="aten.sum"))
        """)

    def test_a_graph_of_another_thread_has_its_own_forward_ops(self):
        self.check_both("""
            x = torch.ones(2, requires_grad=True)
            from tapedeck.torch import nodes
            made = {}
            def build(name, op):
                made[name] = op(x * len(name)).sum()
            for name, op in (("a", torch.sin), ("bb", torch.cos)):
                thread = threading.Thread(target=build, args=(name, op))
                thread.start()
                thread.join()
            here = (x * 9).exp().sum()  # nodes of the same numbers
            import contextlib
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                for name in ("bb", "a"):
                    made[name].backward()
                here.backward()
            assert bool(nodes._push) == hasattr(torch._C._autograd, "_push_node_creation_hook")
            threads = {one["thread"] for one in records(kind="op", op="aten.sum")}
            assert len(threads) == 3, threads
            vjps = records(kind="vjp")
            if nodes._push:
                assert [one["op"] for one in vjps] == ["aten.sum", "aten.cos", "aten.mul.Tensor", "aten.sum", "aten.sin", "aten.mul.Tensor",
                                                       "aten.sum", "aten.exp", "aten.mul.Tensor"], [one["op"] for one in vjps]
            else:  # sums and products of three threads have the same numbers: nothing is said of them
                assert [one["op"] for one in vjps] == ["aten.cos", "aten.sin", "aten.exp"], [one["op"] for one in vjps]
                assert said.getvalue().count("tapedeck: 2 nodes") == 3, said.getvalue()
            by_number = {one["number"]: one for one in records()}
            for one in vjps:
                forward = by_number[one["forward"]]
                assert forward["op"] == one["op"], (forward, one)
            threads = [by_number[one["forward"]]["thread"] for one in vjps]
            per_graph = len(vjps) // 3
            for at in range(0, len(vjps), per_graph):
                assert len(set(threads[at:at + per_graph])) == 1 and threads[at] != threads[at - 1], threads
        """)

    def test_ops_that_make_no_node_take_none(self):
        self.check_both("""
            class Same(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x
                @staticmethod
                def backward(ctx, gradient): return gradient
            x = torch.ones(2, requires_grad=True)
            y = Same.apply(x * 2)
            with torch.no_grad():
                x.neg()
            y.argmax()
            y == x
            y.sum().backward()
            vjps = records(kind="vjp")
            by_number = {one["number"]: one for one in records()}
            assert [(one["op"], by_number[one["forward"]]["op"]) for one in vjps] == [
                ("aten.sum", "aten.sum"), ("autograd.Same", "autograd.Same"), ("aten.mul.Tensor", "aten.mul.Tensor")], vjps
        """)

    def test_what_an_op_in_place_saves_of_its_input_takes_no_node(self):
        # PyTorch clones what the op will overwrite where its gradient needs it; the node is there already.
        self.check_both("""
            v = torch.full((3,), 2.0, requires_grad=True)
            def in_place(change):
                x = torch.rand(3, requires_grad=True)
                y = x * 1
                change(y)
                y.sum().backward()
                ops = {one["number"]: one["op"] for one in records()}
                return [(one["op"], ops[one["forward"]]) for one in records(kind="vjp")[-3:]]
            for name, change in (("mul_.Tensor", lambda y: y.mul_(v)), ("pow_.Tensor", lambda y: y.pow_(v)),
                                 ("div_.Tensor", lambda y: y.div_(v)), ("abs_", lambda y: y.abs_()), ("sin_", lambda y: y.sin_()),
                                 ("mul_.Tensor", lambda y: (y.clone(), y.mul_(v)))):
                assert in_place(change)[1] == ("aten." + name,) * 2, (name, in_place(change))
            kept = []
            def copied(y):
                kept.append(y.clone())  # the program's own, which has a node
                with torch.no_grad():
                    y.detach().zero_()
                y += kept[0] * 0
            x = torch.rand(3, requires_grad=True)
            y = x * 1
            copied(y)
            y.sum().backward()
            assert "aten.clone" in [one["op"] for one in records(kind="vjp")[-5:]], records(kind="vjp")[-5:]
        """)

    def test_a_view_whose_base_was_written_to_keeps_the_ops_of_its_readers(self):
        self.check_both("""
            x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
            b = x * 1
            v = b[1:]
            w = b[:2]
            v.mul_(2)
            (w * 3).sum().backward()
            assert x.grad.tolist() == [3, 6, 0]
            by_number = {one["number"]: one for one in records()}
            shown = [(one["op"], by_number[one["forward"]]["op"], by_number[one["forward"]]["line"] == one["line"])
                     for one in records(kind="vjp")]
            assert shown == [("aten.sum", "aten.sum", True), ("aten.mul.Tensor", "aten.mul.Tensor", True),
                             ("autograd.CopySlices", "aten.mul_.Tensor", True), ("aten.mul.Tensor", "aten.mul.Tensor", True)], shown
            copied, = records(kind="vjp", op="autograd.CopySlices")
            assert preview(copied["inputs"][0]) == "3. 3. 0." and preview(copied["outputs"][0]) == "3. 6. 0.", copied
            first, second = [one for one in records(kind="vjp", op="aten.mul.Tensor")]
            assert preview(by_number[second["forward"]]["outputs"][0]) == "1. 2. 3.", second
        """)

    def test_a_function_of_the_program_is_a_record_with_its_ops_inside(self):
        self.check("""
            class Scaled(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x, name, w):
                    half = w * 0.5
                    ctx.save_for_backward(x, half)
                    return x * half, half.detach()
                @staticmethod
                def backward(ctx, gradient, unused):
                    x, half = ctx.saved_tensors
                    to_x = gradient * half
                    to_w = gradient * x * 0.5
                    return to_x, None, to_w
            x = torch.tensor([3.0], requires_grad=True)
            w = torch.tensor([4.0], requires_grad=True)
            y, _ = Scaled.apply(x, "scaled", w)
            y.sum().backward()
            custom, = records(kind="custom")
            vjp, = records(kind="vjp", op="autograd.Scaled")
            assert custom["op"] == "autograd.Scaled" and [preview(one) for one in custom["inputs"]] == ["3.", "4."], custom
            assert [preview(one) for one in custom["outputs"]] == ["6.", "2."], custom
            inside = [one["op"] for one in records() if one["parent"] == custom["number"]]
            first = next(one for one in records() if one["parent"] == custom["number"])
            assert first["inputs"][0]["id"] == custom["inputs"][1]["id"], (first, custom)
            assert inside[:2] == ["aten.mul.Tensor", "aten.mul.Tensor"], inside
            assert vjp["forward"] == custom["number"] and vjp["custom_gradient"], vjp
            assert [preview(one) for one in vjp["outputs"]] == ["2.", "1.5"], vjp
            first = Scaled.backward.__code__.co_firstlineno
            assert [one["line"] - first for one in records(op="aten.mul.Tensor") if one["parent"] == vjp["number"]] == [3, 4, 4], records()
            assert vjp["line"] == first + 2, vjp
        """)

    def test_an_exception_in_forward_of_a_function_ends_its_record(self):
        self.check("""
            class Fails(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    x * 2
                    raise KeyError("on purpose")
                @staticmethod
                def backward(ctx, gradient): return gradient
            try:
                Fails.apply(torch.ones(2, requires_grad=True))
            except KeyError as error:
                assert error.args == ("on purpose",)
                names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
                assert "forward" in names and not any(name in names for name in ("_apply", "begin_function")), names
                assert not any("tapedeck" in frame.filename for frame in traceback.extract_tb(error.__traceback__))
            else:
                assert False, "the exception was lost"
            failed, = records(kind="custom")
            assert failed["state"] == "failed" and "on purpose" in failed["error"], failed
            torch.ones(2) + 1
            assert records()[-1]["depth"] == 0
        """)

    def test_ops_of_hooks_have_their_own_lines(self):
        self.check("""
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y = x * 3
            def of_tensor(gradient):
                return gradient.neg()
            def before_node(gradients):
                return (gradients[0].abs(),)
            def after_node(given, gradients):
                given[0].sqrt()
            def after_accumulation(parameter):
                parameter.grad.sign()
            y.register_hook(of_tensor)
            y.grad_fn.register_prehook(before_node)
            y.grad_fn.register_hook(after_node)
            x.register_post_accumulate_grad_hook(after_accumulation)
            y.sum().backward()
            assert x.grad.tolist() == [3, 3]
            playback, = records(kind="playback")
            for op, function in (("neg", of_tensor), ("abs", before_node), ("sqrt", after_node), ("sign", after_accumulation)):
                one, = records(op="aten." + op)
                assert one["line"] == function.__code__.co_firstlineno + 1, (one, function)
                assert one["backward"] and one["custom_gradient"] and not one["sums_gradients"], one
            for one in records(kind="op"):
                if one["backward"] and one["op"] not in ("aten.neg", "aten.abs", "aten.sqrt", "aten.sign"):
                    assert not one["custom_gradient"], one
        """)

    def test_a_sum_in_a_hook_is_no_sum_of_gradients(self):
        self.check("""
            x = torch.ones(2, requires_grad=True)
            y = x * 3
            y.register_hook(lambda gradient: gradient + 1)
            (y.exp() + y.sin()).sum().backward()
            sums = [one for one in records(kind="op", op="aten.add.Tensor") if one["backward"]]
            assert [(one["sums_gradients"], one["custom_gradient"]) for one in sums] == [(True, False), (False, True)], sums
        """)

    def test_checkpoints_compute_again_on_the_lines_of_the_program(self):
        self.check("""
            from torch.utils.checkpoint import checkpoint
            for reentrant in (False, True):
                start = len(records())
                x = torch.tensor([0.5], requires_grad=True)
                def block(x):
                    y = x.sin()
                    return y.exp()
                checkpoint(block, x, use_reentrant=reentrant).sum().backward()
                found = records()[start:]
                again = [one for one in found if one["op"] == "aten.sin" and one["kind"] == "op"]
                assert len(again) == 2 and again[1]["backward"], (reentrant, again)
                assert {one["line"] for one in again} == {block.__code__.co_firstlineno + 1}, again
                by_number = {one["number"]: one for one in found}
                vjps = [one for one in found if one["kind"] == "vjp" and one["op"] in ("aten.sin", "aten.exp")]
                assert [one["op"] for one in vjps] == ["aten.exp", "aten.sin"], vjps
                for one in vjps:
                    assert by_number[one["forward"]]["op"] == one["op"], one
                    assert by_number[one["forward"]]["backward"] == reentrant, (reentrant, one)
                assert not records(state="running")
        """)

    def test_gradients_of_gradients_have_forward_ops_inside_of_vjps(self):
        self.check_both("""
            x = torch.tensor([2.0], requires_grad=True)
            y = (x * x * x).sum()
            gradient, = torch.autograd.grad(y, x, create_graph=True)
            first = len(records())
            again, = torch.autograd.grad(gradient.sum(), x)
            assert again.tolist() == [12]
            by_number = {one["number"]: one for one in records()}
            vjps = [one for one in records(kind="vjp") if one["number"] > first]
            assert vjps
            for one in vjps:
                assert by_number[one["forward"]]["op"] == one["op"], one
            of_backward = [one for one in vjps if by_number[one["forward"]]["backward"]]
            assert len(of_backward) >= 4 and len(vjps) > len(of_backward), vjps
        """)

    def test_a_graph_that_is_kept_is_played_again_with_the_same_ops(self):
        self.check_both("""
            x = torch.tensor([2.0], requires_grad=True)
            z = torch.tensor([5.0], requires_grad=True)
            y = (x * z).sum()
            y.backward(retain_graph=True)
            gradient, = torch.autograd.grad(y, inputs=[x], retain_graph=True)
            y.backward(inputs=[z])
            assert gradient.tolist() == [5] and x.grad.tolist() == [5] and z.grad.tolist() == [4]
            playbacks = records(kind="playback")
            shown = [[(one["op"], one["forward"]) for one in records(kind="vjp") if one["parent"] == playback["number"]]
                     for playback in playbacks]
            assert len(shown) == 3 and shown[0] == shown[1] == shown[2] and len(shown[0]) == 2, shown
            multiplied = [one for one in records(kind="vjp", op="aten.mul.Tensor")]
            assert [preview(multiplied[0]["outputs"][0]), preview(multiplied[0]["outputs"][1])] == ["5.", "2."], multiplied
            assert preview(multiplied[1]["outputs"][0]) == "5.", multiplied
            assert preview(multiplied[2]["outputs"][1]) == "2.", multiplied
        """)

    def test_a_backward_pass_from_an_edge_has_the_forward_ops(self):
        self.check("""
            if not hasattr(torch.autograd.graph, "get_gradient_edge"):
                raise unittest.SkipTest(f"PyTorch {torch.__version__} has no edges for Python")
            x = torch.ones(2, requires_grad=True)
            edge = torch.autograd.graph.get_gradient_edge((x * 3).exp())
            try:
                torch.autograd.backward(edge, torch.ones(2))
            except TypeError as refused:
                raise unittest.SkipTest(f"PyTorch {torch.__version__} begins at tensors alone: {refused}")
            by_number = {one["number"]: one for one in records()}
            shown = [(one["op"], by_number[one["forward"]]["op"]) for one in records(kind="vjp")]
            assert shown == [("aten.exp", "aten.exp"), ("aten.mul.Tensor", "aten.mul.Tensor")], shown
        """)


if __name__ == "__main__":
    main()

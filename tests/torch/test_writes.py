"""Writes into memory that several tensors share: the values that records show, and which op they say made them."""
from recorded_programs import RecordedPrograms
from torch_interpreter import main

# Before each program: what the input of a record is shown as.
SHOWN = """
def shown(record, place=0):
    tensor = record["inputs"][place]
    maker = next((one["op"] for one in records() if one["number"] == tensor["producer"]), None)
    return preview(tensor).strip(), maker and maker.removeprefix("aten.")
"""


class Writes(RecordedPrograms):
    def check_writes(self, program):
        self.check(program, f"globals().update(SHOWN={SHOWN!r}); exec(SHOWN, globals())")

    def test_a_base_is_of_the_write_through_its_view(self):
        self.check_writes("""
            b = torch.ones(4) * 2
            v = b[0]
            v.mul_(2)
            b.sin()
            b.cos()
            assert shown(records(op="aten.sin")[0]) == ("4. 2. 2. 2.", "mul_.Tensor"), records(op="aten.sin")
            assert shown(records(op="aten.cos")[0]) == ("4. 2. 2. 2.", "mul_.Tensor"), records(op="aten.cos")
            assert records(op="aten.sin")[0]["inputs"][0]["id"] == records(op="aten.cos")[0]["inputs"][0]["id"]
        """)

    def test_views_of_views_are_of_the_last_write_that_reached_them(self):
        self.check_writes("""
            b = torch.arange(4.0)
            left, right = b[:2], b[2:]
            inner = left[1]
            inner.add_(10)
            right.mul_(2)
            left.sin()
            inner.cos()
            right.tan()
            b.exp()
            b[1:3].sqrt()
            left[0].abs()
            assert shown(records(op="aten.sin")[0]) == ("0. 11.", "add_.Tensor"), records(op="aten.sin")
            assert shown(records(op="aten.cos")[0]) == ("11.0", "add_.Tensor"), records(op="aten.cos")
            assert shown(records(op="aten.tan")[0]) == ("4. 6.", "mul_.Tensor"), records(op="aten.tan")
            assert shown(records(op="aten.exp")[0]) == ("0. 11. 4. 6.", "mul_.Tensor"), records(op="aten.exp")
            assert shown(records(op="aten.sqrt")[0]) == ("11. 4.", "slice.Tensor"), records(op="aten.sqrt")
            assert shown(records(op="aten.abs")[0]) == ("0.0", "select.int"), records(op="aten.abs")
        """)

    def test_what_a_write_did_not_reach_is_of_the_op_that_made_it(self):
        self.check_writes("""
            b = torch.ones(4) * 3
            first, last = b[0], b[3]
            first.add_(1)
            last.neg()
            assert shown(records(op="aten.neg")[0]) == ("3.0", "mul.Tensor"), records(op="aten.neg")
        """)

    def test_out_writes_into_a_view_and_into_the_whole(self):
        self.check_writes("""
            x = torch.ones(2)
            o = torch.zeros(4)
            view = o[:2]
            torch.add(x, x, out=view)
            o.sin()
            torch.mul(o, 5, out=o)
            o.cos()
            view.tan()
            assert shown(records(op="aten.sin")[0]) == ("2. 2. 0. 0.", "add.out"), records(op="aten.sin")
            assert shown(records(op="aten.cos")[0]) == ("10. 10. 0. 0.", "mul.out"), records(op="aten.cos")
            assert shown(records(op="aten.tan")[0]) == ("10. 10.", "mul.out"), records(op="aten.tan")
        """)

    def test_data_writes_into_the_same_memory(self):
        self.check_writes("""
            b = torch.ones(3) * 2
            part = b[1:]
            b.data.mul_(3)
            b.sin()
            part.cos()
            part.data.fill_(9)
            b.exp()
            assert shown(records(op="aten.sin")[0]) == ("6. 6. 6.", "mul_.Tensor"), records(op="aten.sin")
            assert shown(records(op="aten.cos")[0]) == ("6. 6.", "mul_.Tensor"), records(op="aten.cos")
            assert shown(records(op="aten.exp")[0]) == ("6. 9. 9.", "fill_.Scalar"), records(op="aten.exp")
        """)

    def test_set_and_resize_make_the_tensor(self):
        self.check_writes("""
            b = torch.ones(3)
            other = torch.arange(3.0)
            b.set_(other)
            b.sin()
            b.resize_(2)
            b.cos()
            other.add_(1)
            b.exp()
            set_, = records(op="aten.set_.source_Tensor")
            assert set_["outputs"][0]["producer"] == set_["number"], set_
            assert shown(records(op="aten.sin")[0]) == ("0. 1. 2.", "set_.source_Tensor"), records(op="aten.sin")
            assert shown(records(op="aten.cos")[0]) == ("0. 1.", "resize_"), records(op="aten.cos")
            assert shown(records(op="aten.exp")[0]) == ("1. 2.", "add_.Tensor"), records(op="aten.exp")
        """)

    def test_random_values_are_of_the_op_that_drew_them(self):
        self.check_writes("""
            torch.manual_seed(1)
            x = torch.rand(2)
            x.sin()
            x.uniform_()
            x.cos()
            drawn, = records(op="aten.rand")
            assert drawn["outputs"][0]["producer"] == drawn["number"], drawn
            assert shown(records(op="aten.sin")[0]) == (preview(drawn["outputs"][0]).strip(), "rand"), records(op="aten.sin")
            again, = records(op="aten.uniform_")
            assert shown(records(op="aten.cos")[0]) == (preview(again["outputs"][0]).strip(), "uniform_"), records(op="aten.cos")
        """)

    def test_memory_that_changed_in_another_way_is_of_no_op(self):
        self.check_writes("""
            x = torch.ones(2) * 2
            array = x.numpy()
            array[0] = 5
            x.sin()
            assert shown(records(op="aten.sin")[0]) == ("5. 2.", None), records(op="aten.sin")
        """)


if __name__ == "__main__":
    main()

"""Objects know what is in their attributes, whichever way it came there."""
import collections
import copy
import pickle
import unittest

import numpy as np

import tapedeck as tf
from tapedeck._core.trackable import NoDependency, Trackable, TrackedList

Pair = collections.namedtuple("Pair", "left right")


def new(value=0.):
    return tf.Variable(value)


class Attributes(unittest.TestCase):
    def test_variables_objects_and_what_holds_them_are_children(self):
        thing, v, inner = Trackable(), new(), Trackable()
        thing.v, thing.inner, thing.n, thing.text, thing.array, thing.plain = v, inner, 3, "x", np.zeros(2), (1, 2)
        thing.list, thing.dict, thing.pair, thing.tuple = [v], {"a": v, 2: [inner]}, Pair(v, 3), (1, [v])
        self.assertEqual(list(thing._children()), ["v", "inner", "list", "dict", "pair", "tuple"])
        self.assertIs(thing.dict._children()["2"]._children()["0"], inner)
        self.assertIs(thing.tuple._children()["1"]._children()["0"], v)
        self.assertIs(thing.pair._children()["0"], v)
        self.assertIs(type(thing.plain), tuple)

    def test_what_is_replaced_or_deleted_is_no_child(self):
        thing = Trackable()
        thing.a, thing.b = new(), [new()]
        thing.a = None
        del thing.b
        self.assertEqual(thing._children(), {})
        thing.a = new()
        thing.a = NoDependency(kept := [new()])
        self.assertEqual((thing._children(), type(thing.a), thing.a is kept), ({}, list, True))

    def test_a_list_keeps_its_children_whatever_is_done_to_it(self):
        generator = np.random.RandomState(5)
        thing = Trackable()
        thing.list, plain = [], []

        def agree():
            self.assertEqual(len(thing.list), len(plain))
            self.assertTrue(all(a is b for a, b in zip(thing.list, plain)))
            wanted = {str(i): each for i, each in enumerate(plain) if isinstance(each, tf.Variable)}
            found = thing.list._children()
            self.assertEqual(sorted(found), sorted(wanted))
            self.assertTrue(all(found[name] is wanted[name] for name in wanted))

        def both(act):
            act(thing.list), act(plain)
        for _ in range(400):
            one, several = (new() if generator.rand() < .7 else 3), [new(), "text", new()]
            at, to = sorted(generator.randint(-1, 7, 2).tolist())
            both([lambda l: l.append(one), lambda l: l.insert(at, one), lambda l: l.extend(several), lambda l: l.clear(),
                  lambda l: l.extend(iter(several)), lambda l: l.__iadd__(several), lambda l: l and l.pop(), lambda l: l.reverse(),
                  lambda l: l.__setitem__(slice(at, to), several), lambda l: l and l.__setitem__(0, one), lambda l: l.sort(key=id),
                  lambda l: l.__delitem__(slice(at, to)), lambda l: "text" in l[:1] and l.remove("text"),
                  lambda l: l.__setitem__(slice(None, None, -1), list(l)),
                  lambda l: len(l) < 9 and l.__imul__(2)][generator.randint(15)])
            agree()

    def test_a_dict_keeps_its_children_whatever_is_done_to_it(self):
        for kind in (dict, collections.OrderedDict):
            generator = np.random.RandomState(6)
            thing = Trackable()
            thing.dict, plain = kind(), kind()
            for _ in range(300):
                key, value, more = generator.randint(5), (new() if generator.rand() < .7 else 3), new()
                acts = [lambda d: d.__setitem__(key, value), lambda d: d.update({key: value, "more": more}), lambda d: d.clear(),
                        lambda d: d.update(more=more), lambda d: d.setdefault(key, value), lambda d: d.pop(key, None),
                        lambda d: d and d.popitem(), lambda d: key in d and d.__delitem__(key), lambda d: d.__ior__({key: value})]
                act = acts[generator.randint(9)]
                act(thing.dict), act(plain)
                self.assertEqual(list(thing.dict), list(plain))
                wanted = {str(name): each for name, each in plain.items() if isinstance(each, tf.Variable)}
                found = thing.dict._children()
                self.assertEqual(sorted(found), sorted(wanted))
                self.assertTrue(all(found[name] is wanted[name] for name in wanted))
                self.assertEqual(sorted(thing.dict._trackable_state.children), sorted(wanted))

    def test_lists_that_hold_themselves(self):
        thing, circle = Trackable(), [new()]
        circle.append({"around": circle, "tuple": (circle,)})
        thing.circle = circle
        self.assertIs(thing.circle[1]["around"], thing.circle)
        self.assertIs(thing.circle[1]["tuple"][0], thing.circle)

    def test_containers_are_what_they_were_to_everybody_else(self):
        thing = Trackable()
        thing.list, thing.dict, thing.pair = [1., [2., 3.]], {"a": [1]}, Pair(new(2.), 1)
        self.assertEqual((thing.list, thing.dict, repr(thing.list)), ([1., [2., 3.]], {"a": [1]}, "[1.0, [2.0, 3.0]]"))
        self.assertTrue(isinstance(thing.list, list) and isinstance(thing.dict, dict) and isinstance(thing.pair, Pair))
        np.testing.assert_array_equal(tf.constant(thing.list[1]), [2., 3.])
        self.assertEqual(tf.reshape(tf.zeros([6]), TrackedList([2, 3])).shape, (2, 3))
        tf.nest.assert_same_structure(thing.list, [1, [2, 3]])
        doubled = tf.nest.map_structure(lambda x: 2 * x, thing.list)
        self.assertEqual((type(doubled), doubled), (list, [2., [4., 6.]]))
        self.assertIs(type(tf.nest.map_structure(float, thing.pair)), Pair)
        self.assertEqual(thing.pair._replace(right=5).right, 5)

    def test_copies_have_children_of_their_own(self):
        thing = Trackable()
        thing.v, thing.list, thing.dict, thing.pair = new(1.), [new(2.)], collections.OrderedDict(a=new(3.)), Pair(new(4.), [5])
        thing.itself = thing
        for other in (copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
            self.assertEqual(list(other._children()), list(thing._children()))
            for mine, its in ((thing.v, other.v), (thing.list[0], other.list[0]), (thing.dict["a"], other.dict["a"]),
                              (thing.pair.left, other.pair.left)):
                self.assertTrue(mine is not its and float(mine) == float(its))
            self.assertIs(other.list._children()["0"], other.list[0])
            self.assertIs(other.pair._children()["0"], other.pair.left)
            self.assertIs(other._children()["itself"], other)
            other.list.append(new())
            self.assertEqual(len(thing.list._children()), 1)
        shallow = copy.copy(thing)
        shallow.v = None
        self.assertIs(thing._children()["v"], thing.v)

    def test_a_long_list_of_numbers_costs_little(self):
        thing = Trackable()
        thing.losses = []
        for i in range(100_000):
            thing.losses.append(float(i))
        self.assertEqual((len(thing.losses), thing.losses._children()), (100_000, {}))


if __name__ == "__main__":
    unittest.main()

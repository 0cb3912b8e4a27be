"""Checkpoints when things go wrong: processes killed while they save, damaged files and graphs, several writers, full disks."""
import copy
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

import tapedeck as tf
from campaign import Campaign
from checkpoint_objects import X, Counter, InFolder, Momentum, Network, values
import safetensors_parser
from tapedeck._checkpoint import files


def model(value):
    """Objects whose every value is `value`, so that a mixture of two checkpoints shows."""
    thing = tf.Module()
    thing.v = [tf.Variable(tf.fill([200 + i], float(value))) for i in range(30)]
    thing.n = tf.Variable(value, dtype=tf.int64)
    return thing


def value_of(thing):
    """The one value of all variables. AssertionError where there are several."""
    found = {float(element) for variable in thing.v for element in variable.numpy()} | {float(thing.n)}
    assert len(found) == 1, f"a mixture of {sorted(found)[:5]}"
    return found.pop()


class WithChildren(InFolder):
    def start(self, *arguments, **kwargs):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), *map(str, arguments)], text=True, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)


class Killed(WithChildren):
    def test_a_process_that_is_killed_while_it_saves_leaves_its_newest_whole_checkpoint(self):
        """One process forks children that save without an end, kills each at a random moment, and restores what is there."""
        kills = Campaign("checkpoint_kills", "kills while a process saves", 30, 100, "further random moments")
        with self.start("--kill", self.folder, kills.count, kills.seed) as process:
            out, errors = process.communicate(timeout=250)
        self.assertEqual(process.returncode, 0, out[-2000:] + errors[-2000:])
        deaths, checkpoints, partial = map(int, out.split())
        self.assertEqual(deaths, kills.count)
        self.assertGreater(checkpoints, 10)  # it did save, however slow the machine is
        self.assertGreater(partial, 0)  # and was hit in the midst of it
        names = os.listdir(self.folder)
        self.assertLessEqual(len([name for name in names if name.endswith(".writing")]), 2)  # what the last one left
        self.assertLessEqual(len([name for name in names if name.startswith("ckpt-")]), 4)


def save_without_end(folder):
    thing = model(0)
    saver = tf.train.Checkpoint(model=thing)
    manager = tf.train.CheckpointManager(saver, folder, max_to_keep=3)
    manager.restore_or_initialize()
    while True:
        for variable in (*thing.v, thing.n):
            variable.assign_add(tf.ones_like(variable))
        manager.save()


def kill(folder, deaths, seed):
    """Prints how many died, the number of the last checkpoint, and how many died with a file half written."""
    generator, partial, last = random.Random(seed), 0, 0
    for death in range(deaths):
        child = os.fork()
        if child == 0:
            try:
                save_without_end(folder)
            finally:
                os._exit(1)
        time.sleep(generator.uniform(.001, .12))
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the child ended by itself"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        partial += any(name.endswith(".writing") for name in os.listdir(folder))
        newest = tf.train.latest_checkpoint(folder)
        if newest is None:
            assert last == 0 and death < 20, "a checkpoint was there and is gone"
            continue
        thing = model(-1)
        saver = tf.train.Checkpoint(model=thing)
        saver.restore(newest).assert_consumed()
        number = int(saver.save_counter)
        assert value_of(thing) == number >= last, f"checkpoint {number} holds {value_of(thing)}; before it was {last}"
        last = number
        for name in os.listdir(folder):  # whatever bears a checkpoint's name is whole
            if name.endswith(".safetensors"):
                safetensors_parser.parse(os.path.join(folder, name))
    print(deaths, last, partial)


class Damaged(WithChildren):
    def test_damaged_graphs_give_an_error_or_leave_right_values(self):
        graphs = Campaign("checkpoint_damage", "damaged graphs of objects", 1_000, 5_000, "further random damage of the same kinds")
        with self.start("--damage", self.folder, graphs.count, graphs.seed) as process:
            out, errors = process.communicate(timeout=250)
        self.assertEqual(process.returncode, 0, out[-2000:] + errors[-2000:])
        restored, refused = map(int, out.split())
        self.assertEqual(restored + refused, graphs.count)
        self.assertGreater(refused, graphs.count // 5)
        self.assertGreater(restored, graphs.count // 20)


def trained():
    network, optimizer = Network(3, 2), Momentum()
    network(X)
    optimizer.apply([tf.ones_like(each) for each in network.variables], network.variables)
    return network, optimizer, Counter()


def damage(folder, count, seed):
    """Restores from files whose graph was changed: random parts of the JSON by other values."""
    tf.random.set_seed(1)
    path = os.path.join(folder, "ckpt.safetensors")
    network, optimizer, counter = trained()
    tf.train.Checkpoint(model=network, optimizer=optimizer, counter=counter).write(path)
    text, body = safetensors_parser.header_of(path)
    header = json.loads(text)
    graph = json.loads(header["__metadata__"]["tapedeck.object_graph"])
    with open("/proc/self/statm", encoding="ascii") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (256 << 20),) * 2)
    generator, restored, refused = random.Random(seed), 0, 0
    for _ in range(count):
        header["__metadata__"]["tapedeck.object_graph"] = changed_graph(json.loads(json.dumps(graph)), generator)
        safetensors_parser.write(path, json.dumps(header), body)
        other = trained()
        before = [value.tolist() for value in values(other[0])] + [other[2].place]
        try:
            tf.train.Checkpoint(model=other[0], optimizer=other[1], counter=other[2]).read(path).expect_partial()
        except (tf.errors.DataLossError, ValueError) as error:  # ValueError: another shape, or what the iterator does not take
            assert str(error)
            assert before == [value.tolist() for value in values(other[0])] + [other[2].place], "changed by what was refused"
            refused += 1
        else:
            restored += 1
    print(restored, refused)


VALUES = [None, True, -1, 0, 1, 3, 10**6, 2**63, 10**400, 1.5, float("nan"), "", "model", "\0", [], {}, [[]], {"a": 0},
          [0, "momentum", 1], [[0, "momentum", 0]] * 3, {"model": 0}, "nothing.of/this"]


def changed_graph(graph, generator):
    kind = generator.randrange(12)
    if kind == 0:
        text = json.dumps(graph)
        place = generator.randrange(len(text))
        other = generator.choice(["", "}", "[" * 50_000, "1" * 6000, '{"a":' * 20_000, "\x00"])
        return text[:place] + other + text[place + generator.randrange(3):]
    for _ in range(generator.randrange(1, 4)):
        places = list(every_place(graph))
        holder, key = generator.choice(places)
        if generator.random() < .15:
            del holder[key]
        elif generator.random() < .2 and isinstance(holder, dict):
            holder[generator.choice(["model", "children", "variable", "slots", "state", "x"])] = holder[key]
        elif type(holder[key]) is int and generator.random() < .7:
            nodes = graph.get("nodes")
            holder[key] = generator.randrange(len(nodes)) if nodes and isinstance(nodes, list) else 0
        else:
            holder[key] = copy.deepcopy(generator.choice(VALUES))
        if not isinstance(graph, dict) or not graph:
            break
    return json.dumps(graph)


def every_place(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from every_place(inner)


class Together(WithChildren):
    def test_savers_of_one_prefix_in_several_threads_and_processes(self):
        """All write the same names. Whatever is there at any moment is whole, and of one of them."""
        children = [self.start("--save", self.path, 10, i) for i in range(2)]
        problems = []

        def save(value):
            try:
                thing = model(value)
                for _ in range(10):
                    tf.train.Checkpoint(model=thing).save(self.path)
            except BaseException as error:
                problems.append(error)
        threads = [threading.Thread(target=save, args=(i,)) for i in (10, 11)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) or any(child.poll() is None for child in children):
            newest = tf.train.latest_checkpoint(self.folder)
            if newest is not None:
                thing = model(-1)
                tf.train.Checkpoint(model=thing).restore(newest).assert_consumed()
                self.assertIn(value_of(thing), (0, 1, 10, 11))
        for child in children:
            out, errors = child.communicate(timeout=200)
            self.assertEqual(child.returncode, 0, out + errors)
        self.assertEqual(problems, [])
        self.assertEqual(sorted(os.listdir(self.folder)), ["checkpoint", "ckpt-1.safetensors"])

    def test_a_full_disk_keeps_the_last_checkpoint_and_the_counter(self):
        with self.start("--full", self.path) as process:
            out, errors = process.communicate(timeout=200)
        self.assertEqual(process.returncode, 0, out + errors)
        self.assertIn("the file would be larger than this process may write", out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["checkpoint", "ckpt-1.safetensors"])
        thing = model(-1)
        tf.train.Checkpoint(model=thing).restore(tf.train.latest_checkpoint(self.folder)).assert_consumed()
        self.assertEqual(value_of(thing), 7)

    def test_an_interrupt_ends_a_save_and_leaves_nothing(self):
        with self.start("--interrupt", self.path) as process:
            out, errors = process.communicate(timeout=200)
        self.assertEqual((process.returncode, out), (0, "interrupted\n"), errors)
        self.assertEqual(os.listdir(self.folder), [])


def full(path):
    saver = tf.train.Checkpoint(model=model(7))
    saver.save(path)
    saver.model.more = tf.Variable(tf.zeros([1_000_000]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        saver.save(path)
    except tf.errors.ResourceExhaustedError as error:
        print(error, int(saver.save_counter))
    assert int(saver.save_counter) == 1


def interrupt(path):
    big = [tf.zeros([16 << 20]) for _ in range(4)]  # 256 MB
    signal.setitimer(signal.ITIMER_REAL, .02)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        while True:
            files.write_tensors(path, {str(i): each for i, each in enumerate(big)})
            os.remove(path + ".safetensors")
            signal.setitimer(signal.ITIMER_REAL, .02)
    except KeyboardInterrupt:
        print("interrupted")
    if os.path.exists(path + ".safetensors"):
        os.remove(path + ".safetensors")


def main(command, *arguments):
    if command == "--kill":
        kill(arguments[0], int(arguments[1]), int(arguments[2]))
    elif command == "--damage":
        damage(arguments[0], int(arguments[1]), int(arguments[2]))
    elif command == "--save":
        for _ in range(int(arguments[1])):
            tf.train.Checkpoint(model=model(int(arguments[2]))).save(arguments[0])
    elif command == "--full":
        full(*arguments)
    else:
        interrupt(*arguments)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1].startswith("--"):
        main(*sys.argv[1:])
    else:
        unittest.main()

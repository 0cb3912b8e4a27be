"""Data sets of 60,000 images of 784 floats with their labels, beside torch.utils.data.DataLoader. Prints one JSON line per case:
images a second (the median of the rounds), and PyTorch's where it is measured.

    bench_data.py [--torch PYTHON] [--rounds N]

PYTHON: an interpreter that has PyTorch, which then runs the same cases in a process of its own, in turn with the rounds here.
Without it PyTorch is measured where this interpreter has it."""
import argparse
import json
import statistics
import subprocess
import sys
import time

import numpy as np

COUNT, WIDTH, BATCH = 60000, 784, 128


def arrays():
    generator = np.random.default_rng(0)
    return generator.random((COUNT, WIDTH), np.float32), generator.integers(0, 10, COUNT)


def our_cases():
    """Functions that go through all images once and return how many there were."""
    import tapedeck as tf
    slices = tf.data.Dataset.from_tensor_slices(tuple(map(tf.constant, arrays())))
    shuffled = slices.shuffle(COUNT, seed=1)

    def scaled(image, label):
        return image * 2. - 1., label

    def through(dataset):
        return lambda: sum(label.shape[0] for _, label in dataset)

    return {"slices alone": lambda: sum(1 for _ in slices), "slices, batch": through(slices.batch(BATCH)),
            "shuffle, batch": through(shuffled.batch(BATCH)), "shuffle, map, batch": through(shuffled.map(scaled).batch(BATCH)),
            "shuffle, batch, map": through(shuffled.batch(BATCH).map(scaled)),
            "shuffle, batch, map, prefetch": through(shuffled.batch(BATCH).map(scaled).prefetch(2))}


def peer_cases():
    """The same as PyTorch's users write them: a map of each image in the data set, or of each batch in the loop."""
    import torch
    from torch.utils.data import DataLoader, Dataset, TensorDataset
    torch.set_num_threads(2)
    images, labels = map(torch.from_numpy, arrays())

    class Scaled(Dataset):
        def __len__(self):
            return COUNT

        def __getitem__(self, index):
            return images[index] * 2. - 1., labels[index]

    whole = TensorDataset(images, labels)

    def through(loader, function=lambda image: image):
        def run():
            count = 0
            for image, label in loader:
                function(image)
                count += len(label)
            return count
        return run

    shuffled = DataLoader(whole, BATCH, shuffle=True)
    by_batch = through(shuffled, lambda image: image * 2. - 1.)
    return {"slices alone": lambda: sum(1 for _ in whole), "slices, batch": through(DataLoader(whole, BATCH)),
            "shuffle, batch": through(shuffled), "shuffle, map, batch": through(DataLoader(Scaled(), BATCH, shuffle=True)),
            "shuffle, batch, map": by_batch, "shuffle, batch, map, prefetch": by_batch}


def rates(cases, rounds):
    """Images a second of each case, one list of rounds for each."""
    found = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            start = time.perf_counter()
            count = run()
            found[name].append(count / (time.perf_counter() - start))
            assert count == COUNT, (name, count)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        print(json.dumps(rates(peer_cases(), 1)))
        return
    try:
        import torch  # noqa: F401
        peer = sys.executable
    except ImportError:
        peer = None
    peer = arguments.torch or peer
    cases = our_cases()
    ours, theirs = {name: [] for name in cases}, {name: [] for name in cases}
    for _ in range(arguments.rounds):
        for name, rate in rates(cases, 1).items():
            ours[name] += rate
        if peer:
            output = subprocess.run([peer, __file__, "--peer"], capture_output=True, text=True, check=True).stdout
            for name, rate in json.loads(output).items():
                theirs[name] += rate
    for name in cases:
        line = {"case": name, "images_per_second": round(statistics.median(ours[name]))}
        if theirs[name]:
            line["torch_images_per_second"] = round(statistics.median(theirs[name]))
            line["times_torch"] = round(line["images_per_second"] / line["torch_images_per_second"], 2)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()

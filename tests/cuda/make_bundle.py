"""Packs what tests/cuda/bundle has built. Run by the interpreter that goes into the bundle.

    python3 make_bundle.py SOURCE BUILD FILE.tar.xz MOST_BYTES

In the bundle: run_bundle and checks_on_gpu.py; bin/ (programs), lib/ (libraries), python/ (the interpreter, its library, NumPy and the
module), tests/ (Python tests and their helpers), bench/ (benchmarks in Python).
"""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tempfile

import numpy
import zmq

# The C library and the dynamic linker are the machine's; so is what belongs to CUDA: these must fit the driver.
OF_THE_MACHINE = re.compile(r"^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|util|resolv|anl|nsl|mvec|BrokenLocale))\.so|"
                            r"^lib(cuda|cudart|cublas|cublasLt|cusolver|cusparse|nvJitLink|nvrtc)\.so")
# Of the standard library, what neither the module nor its tests import.
LEFT_OUT = {"__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "distutils", "venv",
            "site-packages", "dist-packages", "sitecustomize.py", "EXTERNALLY-MANAGED", "f2py", "doc", "include"}
LEFT_OUT_OF_NUMPY = {"distutils"}
LEFT_OUT_MODULES = re.compile(r"^(_tkinter|_dbm|_gdbm|nis|readline|_curses\w*|_crypt|_test\w*|_xxtest\w*|_ctypes_test)\.")  # in C
LEFT_OUT_ENDINGS = (".pyc", ".pyi", ".pxd", ".pyx", ".a", ".h", ".whl")


def copy_tree(source, target, left_out=frozenset()):
    """The files of a folder, links as what they point to."""
    for folder, folders, files in os.walk(source):
        folders[:] = sorted(each for each in folders if each not in LEFT_OUT | left_out and not each.startswith("config-"))
        to = target / pathlib.Path(folder).relative_to(source)
        to.mkdir(parents=True, exist_ok=True)
        for file in sorted(files):
            if file not in LEFT_OUT and not file.endswith(LEFT_OUT_ENDINGS) and not LEFT_OUT_MODULES.search(file):
                shutil.copyfile(os.path.join(folder, file), to / file)


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def programs_of(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink() and is_program(path)]


def needed_by(path):
    """{name: path} of the libraries that the dynamic linker takes for a program or library here."""
    lines = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for line in lines:
        name, arrow, place = line.strip().partition(" => ")
        name = os.path.basename(name.split(" ")[0])
        if OF_THE_MACHINE.search(name) or "statically linked" in line:
            continue
        place = place.split(" (")[0]
        if not arrow or not os.path.isfile(place):
            sys.exit(f"{path} needs the library {name}, which is not here")
        found[name] = place
    return found


def stage(source, build, bundle):
    for folder in ("bin", "lib", "python/bin", "python/lib", "tests", "bench"):
        (bundle / folder).mkdir(parents=True)
    for program in ("tests/cuda/tests_cuda", "tests/bench/bench_engine"):
        shutil.copy(build / program, bundle / "bin")
    shutil.copy(sys.executable, bundle / "python/bin/python3")
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    copy_tree(library, bundle / "python/lib" / library.name)
    packages = bundle / "python/packages"
    copy_tree(pathlib.Path(numpy.__file__).parent, packages / "numpy", LEFT_OUT_OF_NUMPY)
    copy_tree(pathlib.Path(zmq.__file__).parent, packages / "zmq")  # of tests that ask the debug server
    copy_tree(build / "python/tapedeck", packages / "tapedeck")
    # Programs look for the kernels beside themselves.
    os.symlink("../python/packages/tapedeck/libtapedeck_cuda.so", bundle / "bin/libtapedeck_cuda.so")
    for folder in ("devices", "helpers"):
        copy_tree(source / "tests/python" / folder, bundle / "tests" / folder)
    for name in ("beside_peer.py", "peer_cases.py", "bench_training.py"):
        shutil.copy(source / "tests/bench" / name, bundle / "bench")
    for name in ("run_bundle", "checks_on_gpu.py"):
        shutil.copy(source / "tests/cuda" / name, bundle)
    libraries = {}
    for path in programs_of(bundle):
        libraries.update(needed_by(path))
    for name, place in sorted(libraries.items()):
        shutil.copy(os.path.realpath(place), bundle / "lib" / name)
    for path in programs_of(bundle):
        path.chmod(path.stat().st_mode | stat.S_IRUSR | stat.S_IWUSR | stat.S_IXUSR)
        # Symbols that other files look up stay; what only a debugger reads goes.
        subprocess.run(["strip", "--strip-unneeded", path], check=True)
    commit = subprocess.run(["git", "-C", source, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    (bundle / "commit.txt").write_text((commit or "unknown") + "\n", encoding="utf-8")


def pack(bundle, output):
    output.parent.mkdir(parents=True, exist_ok=True)
    plain, packed = output.with_name(output.name + ".tar"), output.with_name(output.name + ".part")
    with tarfile.open(plain, "w") as archive:
        # Libraries first: what is alike should be near each other.
        for path in [bundle, *sorted(bundle.rglob("*"), key=lambda path: (path.is_file(), path.suffix, path.name))]:
            archive.add(path, os.path.join("tapedeck-gpu", path.relative_to(bundle)), recursive=False)
    with open(packed, "wb") as file:
        # Machine code of x86 packs better with its jumps made absolute; the dictionary spans all of it.
        subprocess.run(["xz", "-T1", "--x86", "--lzma2=preset=9,dict=192MiB", "--stdout", plain], stdout=file, check=True)
    plain.unlink()
    os.replace(packed, output)


def try_it(output):
    """Unpacks it elsewhere and runs it with an empty environment: everything has to load."""
    with tempfile.TemporaryDirectory(prefix="td-") as folder:
        shutil.copy(pathlib.Path(__file__).with_name("run_bundle"), folder)
        done = subprocess.run([os.path.join(folder, "run_bundle"), "--no-gpu", output], cwd="/", text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder})
    print(done.stdout, end="")
    if done.returncode != 3:
        sys.exit(f"The bundle does not run: exit status {done.returncode}")


def main():
    source, build, output = (pathlib.Path(each).resolve() for each in sys.argv[1:4])
    most = int(sys.argv[4])
    bundle = build / "tapedeck-gpu"
    shutil.rmtree(bundle, ignore_errors=True)
    stage(source, build, bundle)
    pack(bundle, output)
    size = output.stat().st_size
    print(f"{output}: {size / 2**20:.1f} MiB")
    if size > most:
        sys.exit(f"It may have {most / 2**20:.0f} MiB: so it is of no use. The largest files: " +
                 ", ".join(f"{path.relative_to(bundle)} {path.stat().st_size >> 20} MiB" for path in
                           sorted((each for each in bundle.rglob("*") if each.is_file()), key=lambda each: -each.stat().st_size)[:8]))
    try_it(output)


if __name__ == "__main__":
    main()

"""Makes a wheel of the built package, and installs it into the environment of the interpreter that runs this.

    INTERPRETER wheel.py PACKAGE VERSION FOLDER

PACKAGE: the folder tapedeck of a build; FOLDER: where the wheel is written. Uses Python's own modules alone: pip installs the wheel
where the environment has it, otherwise this does, and writes the RECORD by which pip can remove it.
"""
import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
import io
import os
import subprocess
import sys
import sysconfig
import zipfile

METADATA = """Metadata-Version: 2.1
Name: tapedeck
Version: {version}
Summary: An eager tensor engine that can be stepped, and the session of the notebook Tapedeck
License: Apache-2.0
Requires-Python: =={python}.*
Requires-Dist: numpy
"""
WHEEL = """Wheel-Version: 1.0
Generator: tapedeck
Root-Is-Purelib: false
Tag: {tag}
"""


def tag():
    version = "cp{}{}".format(*sys.version_info[:2])
    abi = version + getattr(sys, "abiflags", "")
    return f"{version}-{abi}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def package_files(package):
    """(name in the wheel, path); what Python makes when it runs is left out."""
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(folder, name)
            yield "tapedeck/" + os.path.relpath(path, package).replace(os.sep, "/"), path


def record_row(name, contents):
    digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
    return [name, "sha256=" + digest, len(contents)]


def write_record(rows, name):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([*rows, [name, "", ""]])
    return text.getvalue().encode()


def make_wheel(package, version, folder):
    """The path of the wheel."""
    information = f"tapedeck-{version}.dist-info"
    contents = {}
    for name, path in package_files(package):
        with open(path, "rb") as file:  # the build's own are links: the wheel has the files
            contents[name] = file.read()
    contents[f"{information}/METADATA"] = METADATA.format(version=version, python="{}.{}".format(*sys.version_info[:2])).encode()
    contents[f"{information}/WHEEL"] = WHEEL.format(tag=tag()).encode()
    record = f"{information}/RECORD"
    contents[record] = write_record([record_row(*item) for item in contents.items()], record)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"tapedeck-{version}-{tag()}.whl")
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name)  # of a fixed date: the same build gives the same bytes
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    os.replace(path + ".part", path)
    return path


def install(wheel):
    """By pip; without pip by unpacking. Returns pip's exit status."""
    if importlib.util.find_spec("pip") is not None:
        return subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index",
                               "--no-deps", "--force-reinstall", wheel], check=False).returncode
    unpack(wheel, sysconfig.get_paths()["platlib"])
    return 0


def unpack(wheel, site):
    """Replaces what an earlier RECORD names by the files of the wheel; what else is there stays."""
    remove(site)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        archive.extractall(site)
        for name in names:
            os.chmod(os.path.join(site, name), archive.getinfo(name).external_attr >> 16)
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))[:-1]
    installer = record.replace("RECORD", "INSTALLER")
    with open(os.path.join(site, installer), "wb") as file:
        file.write(b"tapedeck\n")
    with open(os.path.join(site, record), "wb") as file:
        file.write(write_record([*rows, record_row(installer, b"tapedeck\n")], record))


def remove(site):
    """What was installed here before."""
    for found in importlib.metadata.distributions(name="tapedeck", path=[site]):
        folders = set()
        for entry in found.files or []:
            path = os.path.normpath(os.path.join(site, str(entry)))
            if not path.startswith(site + os.sep):
                continue  # a RECORD may not reach out of its environment
            folders.add(os.path.dirname(path))
            if os.path.lexists(path):
                os.remove(path)
        for folder in sorted(folders, key=len, reverse=True):
            remove_empty(folder, site)


def remove_empty(folder, site):
    """The folder and those above it, as long as nothing but bytecode is left."""
    while folder.startswith(site + os.sep) and os.path.isdir(folder):
        cache = os.path.join(folder, "__pycache__")
        if os.path.isdir(cache):
            for name in os.listdir(cache):
                if name.endswith(".pyc"):
                    os.remove(os.path.join(cache, name))
            if not os.listdir(cache):
                os.rmdir(cache)
        if os.listdir(folder):
            return
        os.rmdir(folder)
        folder = os.path.dirname(folder)


if __name__ == "__main__":
    sys.exit(install(make_wheel(*sys.argv[1:4])))

"""Run the tests that root cannot run, because root may read and write everything, as a user that has no rights of its own.

Tests that root runs too, but that show something else then (`any_user`), are run as well.

That user may not be able to enter the folder of the checkout, of the virtual environment or of the interpreter. So the tests run
in a folder of their own, made of hard links where possible, and removed afterwards. No account is made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from memory_folder import mount_memory, unmount_memory

ROOT = Path(__file__).resolve().parent.parent
# Nobody, by its number: a system without such an account has the number all the same.
UID = GID = 65534
MARKERS = ("ordinary_user", "any_user")
SELECTED = "ordinary_user or (any_user and not long)"
LEFT_OUT = (".git", ".venv", ".e2e", ".hypothesis", ".*_cache", "dist", "build")
VERSION = "python" + sysconfig.get_python_version()


def main() -> int:
    """Run the tests as an ordinary user: the present one, or another if that is root."""
    paths = (ROOT / "tests").rglob("test_*.py")
    # The tests below tests/security are all for any user (tests/conftest.py).
    marked = [
        path
        for path in paths
        if path.parent.name == "security" or any(f"mark.{marker}" in path.read_text() for marker in MARKERS)
    ]
    files = sorted(str(path.relative_to(ROOT)) for path in marked)
    # What root runs too has its longer tests in `make test-long`; what root cannot run is run nowhere else.
    argv = ["-m", "pytest", "-q", "-n", "2", "-m", SELECTED, "-p", "no:cacheprovider", *files]
    if os.geteuid():
        return subprocess.run([sys.executable, *argv], cwd=ROOT, check=False).returncode
    folder = Path(tempfile.mkdtemp(prefix="as-user-"))
    try:
        folder.chmod(0o755)
        python = copy_environment(folder)
        copy_tree(ROOT, folder / "checkout", LEFT_OUT)
        own = folder / "own"
        own.mkdir(mode=0o700)
        os.chown(own, UID, GID)
        mount_memory(own, 0o700, UID)
        env = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "CI") if name in os.environ}
        env |= {"HOME": str(own), "TMPDIR": str(own), "PYTHONPATH": str(folder / "checkout" / "src")}
        env |= {"LD_LIBRARY_PATH": str(folder / "python" / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [python, *argv], cwd=folder / "checkout", env=env, user=UID, group=GID, extra_groups=[], check=False
        )
        return done.returncode
    finally:
        unmount_memory(folder / "own")
        shutil.rmtree(folder, ignore_errors=True)


def copy_environment(folder: Path) -> Path:
    """Copy the interpreter and the virtual environment; return the interpreter of the copy."""
    base = Path(sys.base_prefix)
    (folder / "python" / "bin").mkdir(parents=True)
    copy_readable(os.path.realpath(sys.executable), str(folder / "python" / "bin" / VERSION))
    copy_tree(base / "lib" / VERSION, folder / "python" / "lib" / VERSION, ("site-packages", "test"))
    for library in (base / "lib").glob("libpython*"):
        copy_readable(str(library.resolve()), str(folder / "python" / "lib" / library.name))
    site = Path(sysconfig.get_paths()["purelib"])
    copy_tree(site, folder / "venv" / "lib" / VERSION / "site-packages", ())
    (folder / "venv" / "pyvenv.cfg").write_text(f"home = {folder / 'python' / 'bin'}\n")
    (folder / "venv" / "bin").mkdir()
    python = folder / "venv" / "bin" / "python"
    python.symlink_to(folder / "python" / "bin" / VERSION)
    return python


def copy_tree(source: Path, target: Path, left_out: tuple[str, ...]) -> None:
    """Make a tree of folders that everybody may enter and files that everybody may read."""
    shutil.copytree(
        source, target, symlinks=True, copy_function=copy_readable, ignore=shutil.ignore_patterns(*left_out)
    )
    for path, _, _ in os.walk(target):
        os.chmod(path, 0o755)


def copy_readable(source: str, target: str) -> None:
    """Copy a file so that everybody may read it. A hard link would change its stamp, and end each warm engine that watches it."""
    mode = os.stat(source).st_mode
    shutil.copy2(source, target)
    os.chmod(target, mode | (0o055 if mode & 0o100 else 0o044))


if __name__ == "__main__":
    sys.exit(main())

"""What a package says and needs: the README without links into the repository, and dependencies for its C library."""

# google-re2 has no wheels for musl (Alpine), where `regex` alone is the engine. The wheel for all other systems is
# `py3-none-any`. On musl, a build from source or `make wheel-musl` has no google-re2; installers prefer the wheel with the
# more specific tag. No marker of a requirement can name the C library (ADR 25).

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from _imp import source_hash
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

DEPENDENCIES = ["click>=8.1", "google-re2>=1.1", "PyYAML>=6.0", "regex>=2024.4.16", "rich>=13"]
# The tag of the platform that a wheel without google-re2 is for, such as musllinux_1_2_x86_64.
PLATFORM_VARIABLE = "BOATHOOK_WHEEL_PLATFORM"


def is_for_musl() -> bool:
    platform = os.environ.get(PLATFORM_VARIABLE, "") or sysconfig.get_config_var("HOST_GNU_TYPE") or ""
    return "musl" in platform


# The repository has no public address yet, so that a link of the README would lead nowhere on the page of a package index. There
# the text of each link stays, without its target, and the pictures are left out. With an address, make the links absolute here.
_PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*")
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")
_WHERE = "The documentation is in the folder `docs` of the source distribution; `boathook --help` has the rest.\n"


def write_package_readme(text: str) -> str:
    """Return the README as the page of a package: without links and pictures of the repository."""
    without_pictures = _PICTURE.sub("", text)
    return f"{_LINK.sub(lambda link: link[1], without_pictures).rstrip()}\n\n{_WHERE}"


class PackageHook(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": write_package_readme(readme)}
        skipped = "google-re2" if is_for_musl() else None
        metadata["dependencies"] = [one for one in DEPENDENCIES if not skipped or not one.startswith(skipped)]


# For people without a clone: `boathook new --from`, and `python -m boathook.testing.conformance`.
EXTRA_FOLDERS = {
    "examples/hooks": "boathook/examples",
    "conformance/vectors": "boathook/testing/conformance_vectors",
}


# The parts of the warm engine in C (Linux), each with its source: the client, and the library of the resident.
WARM_FOLDER, CLIENT, STAMPS = "src/boathook/warm", "client", "stamps"
SOURCES = {CLIENT: "client.c", STAMPS: "stamps.c"}
# Set it to build a wheel for every machine, in which Python asks the warm engine.
WITHOUT_CLIENT_VARIABLE = "BOATHOOK_WITHOUT_CLIENT"


# The client is linked with a library of its own, because that of the system takes ten times as long to start.
SMALL_LIBC = "small_libc.c"
_WITHOUT_SYSTEM = (
    "-nostdlib",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-stack-protector",
    "-U_FORTIFY_SOURCE",
    "-fno-pie",
    "-no-pie",
)


def build_client(source: Path, target: Path, *options: str, small: bool = True) -> bool:
    """Build the client of the warm engine, linked statically; return whether that was possible and it runs.

    It is linked with the library of the system where its own does not know the machine, or if it is not to be `small`.
    """
    words = ["-O2", "-static", "-s", *options]
    ways = [[*words, *_WITHOUT_SYSTEM, str(source.with_name(SMALL_LIBC))]] if small else []
    return any(_build(way, source, target, lambda new: [str(new), "--version"]) for way in (*ways, words))


def build_stamps(source: Path, target: Path) -> bool:
    """Build the library that looks at many files at once, with a digest at its end. Return whether it was built and loads."""
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).boathook_are_unchanged"
    words = ["-O2", "-fPIC", "-shared", "-s"]
    if not _build(words, source, target, lambda new: [sys.executable, "-I", "-c", code, str(new)]):
        return False
    # `boathook.warm.stamps` loads only what ends like this.
    library = target.read_bytes()
    target.write_bytes(library + source_hash(1, source.read_bytes() + library))
    return True


def _build(words: list[str], source: Path, target: Path, make_trial: Callable[[Path], list[str]]) -> bool:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if os.environ.get(WITHOUT_CLIENT_VARIABLE) or not compiler or not sysconfig.get_platform().startswith("linux"):
        return False
    new = target.with_name(f"{target.name}.new")
    try:
        subprocess.run([compiler, *words, "-o", str(new), str(source)], check=True, capture_output=True, timeout=120)
        subprocess.run(make_trial(new), check=True, capture_output=True, timeout=10)
        new.replace(target)
    except (OSError, subprocess.SubprocessError):
        new.unlink(missing_ok=True)
        return False
    return True


def build_warm_parts(sources: Path, folder: Path) -> list[Path]:
    """Build what can be built of the parts in C; without the client, nothing: the wheel is for every machine then."""
    client, stamps = folder / CLIENT, folder / STAMPS
    if not build_client(sources / SOURCES[CLIENT], client):
        return []
    return [client, *([stamps] if build_stamps(sources / SOURCES[STAMPS], stamps) else [])]


class WheelHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def _make_folder(self) -> str:
        self._folder = tempfile.TemporaryDirectory()
        return self._folder.name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if self._folder is not None:
            self._folder.cleanup()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # An editable install finds these folders in the clone.
        if version == "standard":
            build_data["force_include"] |= {str(Path(self.root, name)): place for name, place in EXTRA_FOLDERS.items()}
        if platform := os.environ.get(PLATFORM_VARIABLE):
            build_data["tag"] = f"py3-none-{platform}"
        elif version == "editable":
            build_warm_parts(Path(self.root, WARM_FOLDER), Path(self.root, WARM_FOLDER))
        elif parts := build_warm_parts(Path(self.root, WARM_FOLDER), Path(self._make_folder())):
            build_data["force_include"] |= {str(part): f"boathook/warm/{part.name}" for part in parts}
            # These are for this kind of machine.
            build_data["tag"] = f"py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}"
            build_data["pure_python"] = False

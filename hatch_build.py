"""What a wheel needs depends on the C library: google-re2 has no wheels for musl (Alpine), where `regex` alone is the engine."""

# The wheel for all other systems is `py3-none-any`. On musl, a build from source or `make wheel-musl` has no google-re2;
# installers prefer the wheel with the more specific tag. No marker of a requirement can name the C library (ADR 25).

from __future__ import annotations

import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

DEPENDENCIES = ["click>=8.1", "google-re2>=1.1", "PyYAML>=6.0", "regex>=2024.4.16", "rich>=13"]
# The tag of the platform that a wheel without google-re2 is for, such as musllinux_1_2_x86_64.
PLATFORM_VARIABLE = "BOATHOOK_WHEEL_PLATFORM"


def is_for_musl() -> bool:
    platform = os.environ.get(PLATFORM_VARIABLE, "") or sysconfig.get_config_var("HOST_GNU_TYPE") or ""
    return "musl" in platform


class DependenciesHook(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        skipped = "google-re2" if is_for_musl() else None
        metadata["dependencies"] = [one for one in DEPENDENCIES if not skipped or not one.startswith(skipped)]


class TagHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if platform := os.environ.get(PLATFORM_VARIABLE):
            build_data["tag"] = f"py3-none-{platform}"

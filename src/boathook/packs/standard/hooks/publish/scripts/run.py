#!/usr/bin/env python3
"""Asks before something is published."""

from __future__ import annotations

from lazy_pattern import LazyPattern
from program_list import find_called_tool, has_command_words, is_dry_run, list_all_programs

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.started_program import Started

# A program, the words that begin its command, an option that must be there, and what shows what would be published.
_ROWS: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (("npm", "pnpm", "bun", "deno", "jsr"), "publish", "", "npm pack --dry-run"),
    (("npm", "pnpm"), "unpublish", "", "npm view NAME versions"),
    (("npm",), "owner add", "", "npm owner ls"),
    (("yarn",), "publish", "", "yarn pack --dry-run"),
    (("yarn",), "npm publish", "", "yarn pack --dry-run"),
    (("twine",), "upload", "", "twine check dist/*"),
    (
        ("poetry", "uv", "flit", "hatch", "pdm", "rye", "maturin"),
        "publish",
        "",
        "python -m build, then look into dist/",
    ),
    (("maturin",), "upload", "", "python -m build, then look into dist/"),
    (("setup.py",), "upload", "", "python -m build"),
    (("cargo",), "publish", "", "cargo publish --dry-run"),
    (("cargo",), "owner", "--add", "cargo owner --list"),
    (("gem",), "push", "", "gem build"),
    (("gem",), "yank", "", "gem list -r NAME"),
    (("rake",), "release", "", "rake build"),
    (("mvn", "mvnw"), "deploy", "", "mvn package"),
    (("mvn", "mvnw"), "release:perform", "", "mvn release:prepare -DdryRun=true"),
    (("gradle", "gradlew"), "publish", "", "gradle publishToMavenLocal"),
    (("gradle", "gradlew"), "uploadArchives", "", "gradle publishToMavenLocal"),
    (("gradle", "gradlew"), "publishPlugins", "", "gradle publishToMavenLocal"),
    (("sbt",), "publish", "", "sbt publishLocal"),
    (("sbt",), "publishSigned", "", "sbt publishLocal"),
    (("lein",), "deploy", "", "lein jar"),
    (("dotnet",), "nuget push", "", "dotnet pack"),
    (("dotnet",), "nuget delete", "", "dotnet package search NAME"),
    (("nuget",), "push", "", "nuget pack"),
    (("mix",), "hex.publish", "", "mix hex.build"),
    (("dart", "flutter"), "pub publish", "", "dart pub publish --dry-run"),
    (("pod",), "trunk push", "", "pod lib lint"),
    (("anaconda",), "upload", "", "conda build --output"),
    (("cabal",), "upload", "--publish", "cabal sdist"),
    (("luarocks",), "upload", "", "luarocks pack"),
    (("opam",), "publish", "", "opam lint"),
    (("docker", "podman", "nerdctl", "buildah", "crane"), "push", "", "docker image inspect"),
    (("docker", "podman"), "image push", "", "docker image inspect"),
    (("docker", "podman"), "manifest push", "", "docker manifest inspect"),
    (("docker",), "compose push", "", "docker compose config"),
    (("docker",), "buildx build", "--push", "the same command without --push"),
    (("docker",), "build", "--push", "the same command without --push"),
    (("skopeo",), "copy", "", "skopeo inspect"),
    (("ko",), "publish", "", "ko build --local"),
    (("oras",), "push", "", "oras manifest fetch"),
    (("helm",), "push", "", "helm package"),
    (("helm",), "cm-push", "", "helm package"),
    (("gh",), "repo edit", "--visibility", "gh repo view"),
    (("gh",), "release create", "", "gh release create --draft"),
    (("gh",), "release upload", "", "gh release view"),
    (("gh",), "release edit", "", "gh release view"),
    (("glab",), "release create", "", "glab release list"),
    (("glab",), "release upload", "", "glab release view"),
    (("goreleaser",), "release", "", "goreleaser release --snapshot"),
    (("vsce", "ovsx"), "publish", "", "vsce package"),
    (("semantic-release",), "", "", "semantic-release --dry-run"),
    (("changeset",), "publish", "", "changeset status"),
    (("lerna",), "publish", "", "lerna changed"),
    (("np", "release-it"), "", "", "release-it --dry-run"),
    (("web-ext",), "sign", "", "web-ext build"),
    (("snapcraft", "charmcraft"), "upload", "", "snapcraft pack"),
    (("snapcraft",), "release", "", "snapcraft status"),
    (("eas",), "submit", "", "eas build:list"),
    (("fastlane",), "release", "", "fastlane lanes"),
    (("fastlane",), "deliver", "", "fastlane lanes"),
    (("fastlane",), "supply", "", "fastlane lanes"),
    (("huggingface-cli", "hf"), "upload", "", "hf repo info"),
    (("clasp",), "deploy", "", "clasp deployments"),
    (("ansible-galaxy",), "collection publish", "", "ansible-galaxy collection build"),
)
_ROWS_OF = {name: [row for row in _ROWS if name in row[0]] for name in {name for row in _ROWS for name in row[0]}}
_LOCAL_REGISTRY = LazyPattern(
    r"(?:localhost|127\.0\.0\.1|registry\.local|kind-registry|\[::1\])[:/]|\btestpypi\b|//test\.|--registry=?http://(?:localhost|127)"
)
_EXCUSES = (
    "--snapshot",
    "--dry-run",
    "-n",
    "--draft",
    "--list",
    "--skip=publish",
    "--skip-publish",
    "-d",
    "--local",
    "--tasks",
)


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first command that publishes."""
    for program in list_all_programs(call):
        text = " ".join((program.name, *program.words[1:]))
        if is_dry_run(program) or any(text.startswith(start) for start in call.list_setting("free")):
            continue
        if found := _find_row(program):
            words, way = found
            return ask(
                f"`{words}` makes something public, which can hardly be taken back. See first what it would publish: `{way}`; "
                "then let the person say yes."
            )
    return None


def _find_row(program: Started) -> tuple[str, str] | None:
    name, operands = find_called_tool(program, _ROWS_OF)
    arguments = program.words[1:]
    # `:lib:publish` is a task of a part of the build.
    if name in ("gradle", "gradlew"):
        operands = [word.rpartition(":")[2] for word in operands]
    if _LOCAL_REGISTRY.search(" ".join(arguments)) or any(word in _EXCUSES for word in arguments):
        return None
    for _, words, option, way in _ROWS_OF.get(name, ()):
        wanted = words.split()
        is_there = has_command_words(operands, wanted, places=3)
        has_needed = not option or any(word.partition("=")[0] == option for word in arguments)
        if is_there and has_needed:
            return " ".join(filter(None, (name, words, option))), way
    return None


if __name__ == "__main__":
    run_guard(decide)

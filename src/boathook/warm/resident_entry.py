"""Started as the resident: `python -I -S resident_entry.py --state DIR [--config DIR] [--idle SECONDS]`, with no environment."""

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.warm.stamps import PackLooks

# What the path of an event may import.
PRELOADED_PACKAGES = (
    *("core", "shell", "hosts", "system", "dialects", "sources", "process", "ledger", "catalog_cache", "trust"),
    *("permits", "protection", "entry", "guards"),
)
PRELOADED_LIBRARIES = ("re2", "regex", "yaml", "tomllib", "hashlib", "subprocess", "tempfile", "ctypes", "fcntl")


# The exit code if another one is about to listen.
IS_STARTING = 3


def main(args: "list[str]") -> int:
    """Bind the socket and serve; return at once if another resident does that already, or is about to."""
    options, started = dict(zip(args[::2], args[1::2], strict=True)), time.time()
    from boathook.entry.surroundings import KEY_HANDLE, KEY_PREFIX, name_socket, open_own_process, read_surroundings
    from boathook.process.supervisor import HOOK_ENTRY
    from boathook.warm.source_watch import SourceWatch, stamp_main_files
    from boathook.warm.warm_folder import bind_socket, has_place, lock_folder, make_warm_folder

    _detach()
    key = _os.urandom(16).hex()
    handle = _os.memfd_create(KEY_PREFIX + key)
    _os.dup2(handle, KEY_HANDLE, inheritable=False)
    _os.close(handle)
    process = open_own_process()
    surroundings = read_surroundings(process)
    _os.close(process)
    name = name_socket(sys.executable, HOOK_ENTRY, surroundings)
    folder = make_warm_folder(options["--state"])
    config = options.get("--config", "")
    # Whatever changes from now on is noticed, also if it changes before there is a socket.
    main_files = stamp_main_files(f"{config}/hooks.toml" if config else "")
    try:
        # It is held until there is a socket, so that those that start at the same time end before they take any memory.
        with lock_folder(folder):
            if not has_place(folder, name):
                return 1
            pack_looks = _preload()
            from boathook.warm.rehearsal import rehearse

            rehearse(folder)
            _freeze()
            from boathook.warm.resident import BACKLOG, IDLE_SECONDS, Resident

            watch = SourceWatch(main_files, started, pack_looks)
            if not watch.is_current():
                return 1
            listener = bind_socket(folder, name, BACKLOG)
    except BlockingIOError:
        return IS_STARTING
    idle_seconds = float(options.get("--idle", IDLE_SECONDS))
    Resident(listener, folder, name, key.encode(), watch, surroundings, idle_seconds).serve()
    return 0


def _detach() -> None:
    """Keep nothing of whoever started this."""
    import signal

    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # A socket that its own user cannot reach would be of no use.
    _os.umask(0o077)
    _os.chdir("/")
    null = _os.open(_os.devnull, _os.O_RDWR)
    for number in (0, 1, 2):
        _os.dup2(null, number)
    for name in _os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                _os.close(int(name))
            except OSError:
                continue


def _preload() -> "PackLooks | None":
    """Import everything that an event may need; return what packs files and stamps for the library that compares them."""
    from importlib import import_module
    from pkgutil import walk_packages

    from boathook.warm.forked_hook import preload_modules

    # First: what it compiles leaves holes in the memory, which the others fill. Events would fill them, and copy their pages.
    preload_modules()
    for name in PRELOADED_PACKAGES:
        package = import_module(f"boathook.{name}")
        for module in walk_packages(package.__path__, f"boathook.{name}."):
            if not module.name.endswith(".sitecustomize"):
                import_module(module.name)
    import_module("boathook.assembly")
    import_module("boathook.loader")
    for name in PRELOADED_LIBRARIES:
        try:
            import_module(name)
        except ImportError:
            # On musl there is no re2.
            continue
    from boathook.catalog_cache.format import keep_catalogues
    from boathook.warm.stamps import load_stamps_library

    pack_looks = load_stamps_library()
    keep_catalogues(pack_looks)
    return pack_looks


def _freeze() -> None:
    """Keep the collector from touching what is there now: forks share what no process writes to."""
    import gc

    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    sys.path[0] = __file__.rpartition("/boathook/")[0]
    import site

    site.main()
    import os as _os

    sys.exit(main(sys.argv[1:]))

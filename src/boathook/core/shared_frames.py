"""How a process that several hooks share reports the end of each: a line of numbers, then what the hook has printed."""

# Both sides use it: the process writes frames to its standard output (boathook.guards.shared_process), the engine reads them.

from __future__ import annotations

from boathook.core.value import Value

_NUMBERS = 6
_MAX_HEAD_BYTES = 128


class HookFrame(Value):
    """The end of one hook: its exit code (minus a signal), its seconds, and its output.

    `is_late`: it ended only after the engine had told the process to end.
    """

    code: int
    seconds: float
    stdout: bytes
    stderr: bytes
    overflow: bool = False
    is_late: bool = False

    def to_bytes(self) -> bytes:
        numbers = (
            self.code,
            round(self.seconds * 1e6),
            len(self.stdout),
            len(self.stderr),
            self.overflow,
            self.is_late,
        )
        return b"%d %d %d %d %d %d\n" % numbers + self.stdout + self.stderr


def read_frames(data: bytes) -> tuple[HookFrame, ...]:
    """Return the whole frames at the beginning of some bytes; what follows them is not one (yet)."""
    frames: list[HookFrame] = []
    start = 0
    while (frame_end := find_frame_end(data, start)) > 0:
        head, _, _ = data[start : start + _MAX_HEAD_BYTES].partition(b"\n")
        code, micros, out_size, err_size, overflow, is_late = map(int, head.split())
        body = start + len(head) + 1
        out, err = data[body : body + out_size], data[body + out_size : body + out_size + err_size]
        frames.append(HookFrame(code, micros / 1e6, bytes(out), bytes(err), bool(overflow), bool(is_late)))
        start = frame_end
    return tuple(frames)


def find_frame_end(data: bytes | bytearray, start: int) -> int:
    """Return where the frame that begins at `start` ends, 0 if it is not whole."""
    head, newline, _ = bytes(data[start : start + _MAX_HEAD_BYTES]).partition(b"\n")
    numbers = head.split()
    if not newline or len(numbers) != _NUMBERS or not all(one.lstrip(b"-").isdigit() for one in numbers):
        return 0
    frame_end = start + len(head) + 1 + int(numbers[2]) + int(numbers[3])
    return frame_end if frame_end <= len(data) else 0

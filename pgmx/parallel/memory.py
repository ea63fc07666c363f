"""The free memory of the machine."""


def read_free_memory(unknown: int) -> int:
    """Return the bytes that programs can use without swapping; `unknown` if the system does not report them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            words = next(line for line in file if line.startswith("MemAvailable:")).split()
    except (OSError, StopIteration):
        return unknown
    return int(words[1]) * 1024

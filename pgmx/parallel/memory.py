"""How much memory the machine has left."""


def read_free_memory(unknown: int) -> int:
    """Return the bytes that programs can take without swapping; `unknown` where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            words = next(line for line in file if line.startswith("MemAvailable:")).split()
    except (OSError, StopIteration):
        return unknown
    return int(words[1]) * 1024

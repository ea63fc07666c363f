"""Objects of the kernels are small: what data need is allocated for them, not for the largest there may be."""

import importlib
import pkgutil

import pgmx._ext

KERNELS = [module.name for module in pkgutil.iter_modules(pgmx._ext.__path__)]


def test_no_object_takes_more_than_a_few_kilobytes():
    sizes = {
        f"{name}.{key}": one.__basicsize__
        for name in KERNELS
        for key, one in vars(importlib.import_module(f"pgmx._ext.{name}")).items()
        if isinstance(one, type)
    }
    assert sizes
    assert {key: size for key, size in sizes.items() if size > 16_384} == {}

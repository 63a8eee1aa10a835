"""How kernels are compiled: as little of numba as they need."""

import sys
import warnings
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import compiler, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import LoweringPass, register_pass

_NEW_PASSES = numba.version_info.short >= (0, 62)  # LLVM's new pass managers; before them, numba's own steps are taken

# For what kernels do not have: with-blocks, closures and comprehensions, exceptions made from values, functions to be
# inlined as Python code, loops over tuples of mixed types, expressions of whole arrays; and a listing of all types.
_LEFT_OUT = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.AnnotateTypes,
}


class KernelFlags(compiler.Flags):
    """The options of a kernel, quick to compare: numba looks them up fifty thousand times for the first certificate,
    compares all options there are, and gives all the same hash; here only those that were set count.
    """

    def __hash__(self):
        return hash(frozenset(self._values))

    def __eq__(self, other):
        return self._values == other._values if isinstance(other, KernelFlags) else NotImplemented


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel, of which LLVM optimises all at the end, with all that it calls, and little before."""

    def _optimize_functions(self, ll_module) -> None:
        """Take tuples apart, which leaves a seventh of the code: numba keeps every variable in memory, and reads and
        writes large tuples whole. numba runs all passes here, and again at the end.
        """
        if not _NEW_PASSES:
            return super()._optimize_functions(ll_module)
        ll_module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes = llvm.create_new_function_pass_manager()
                passes.add_sroa_pass()  # scalar replacement of aggregates
                passes.add_simplify_cfg_pass()
                passes.add_instruction_combine_pass()
                passes.run(function, builder)


@register_pass(mutates_CFG=False, analysis_only=False)
class _UseLibrary(LoweringPass):
    """The code that follows goes to a library of the class that the compiler names."""

    _name = "use_library"

    def __init__(self):
        super().__init__()

    def run_pass(self, state) -> bool:
        """Make the library that numba would make, of the other class."""
        state.library = state.pipeline.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


class KernelCompiler(compiler.CompilerBase):
    """Most of numba's passes, under :class:`KernelFlags`."""

    library_class: type[JITCodeLibrary] = KernelLibrary

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, KernelFlags(flags), locals)

    def define_pipelines(self):
        """The one list of passes."""
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [each for each in passes.passes if each[0] not in _LEFT_OUT]
        passes.add_pass_after(_UseLibrary, typed_passes.IRLegalization)
        passes.finalize()
        return [passes]


_ENVIRONMENT = "_ZN08NumbaEnv"  # how numba begins the name of the variable that points to a function's environment


class InnerLibrary(KernelLibrary):
    """The code of one inner kernel and of all that it calls, not optimised and without machine code."""

    _final_module: Any
    _shared_module: Any

    def _optimize_final_module(self) -> None:
        """Left to the kernel that calls this one, which is optimised with it."""

    def _finalize_final_module(self) -> None:
        """Keep the code for callers; to the machine goes a module that has the environments only."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        shared, small = self._final_module, self._codegen._create_empty_module(self.name)
        pointer = ir.IntType(8).as_pointer()
        for variable in shared.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = ir.GlobalVariable(small, pointer, variable.name)
                environment.linkage, environment.initializer = "common", ir.Constant(pointer, None)
        for function in shared.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"  # as numba does: many callers may have it, none must
        self._shared_module, self._final_module = shared, llvm.parse_assembly(str(small))
        super()._finalize_final_module()


class InnerCompiler(KernelCompiler):
    """The compiler of kernels, with the library of an inner one."""

    library_class = InnerLibrary


# Versions of numba that our compilers were tested with: they replace steps that are not public.
_FIRST_TESTED, _LAST_TESTED = (0, 60), (0, 68)

_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Sums may be reordered and fused; rounding budgets hold for every order. NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}

# Initial values of integers that are later passed to a kernel. For numba a literal 0 has a type of its own, so that it
# would compile the kernel, and all that it calls, once for this type and once for integers.
ZERO, NONE = cast(int, np.int64(0)), cast(int, np.int64(-1))


def entry(function=None, **options):
    """Compile a kernel that Python calls; without a function, a decorator. The options are those of ``numba.njit``."""
    return _njit(function, "entry", options)


def inner(function=None, **options):
    """Compile a kernel that only other kernels call; arguments as for :func:`entry`."""
    return _njit(function, "inner", options | {"no_cpython_wrapper": True})


def _njit(function, kind: str, options: dict):
    """A kernel, or a decorator, with the options that all kernels have; not cached where no folder can be written."""
    if function is None:
        return partial(_njit, kind=kind, options=options)
    options = options | _OPTIONS | ({"pipeline_class": _COMPILERS[kind]} if _COMPILERS else {})
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba: "no locator available"
        _warn_uncached()
        return njit(**options)(function)


@cache  # once a process
def _warn_uncached() -> None:
    """Say that nothing that is compiled here will be kept."""
    warnings.warn(
        "numba finds no folder to keep compiled code in, so each process compiles for some 10 seconds before its first "
        "answer: set the environment variable NUMBA_CACHE_DIR to a folder that can be written to.",
        RuntimeWarning,
        stacklevel=4,  # the file of the first kernel
    )


def _compilers(version: tuple[int, ...]) -> dict:
    """Our compilers of entries and of inner kernels; empty for other versions, where numba's own compiles, slower."""
    if not _FIRST_TESTED <= version[:2] <= _LAST_TESTED:
        return {}
    return {"entry": KernelCompiler, "inner": InnerCompiler}


_COMPILERS = _compilers(numba.version_info.short)


NOTICE = "compiling, once, about 10 s …"  # measured on two cores from an empty cache


def is_compiled(kernel) -> bool:
    """True if numba's cache holds machine code of the kernel for this Python, newer than its source: an index file
    ``module.kernel-line.pyXY.nbi`` beside the source, in ``NUMBA_CACHE_DIR``, or in the user's cache folder.
    """
    if not hasattr(kernel, "py_func"):  # numba is switched off (NUMBA_DISABLE_JIT)
        return True
    if kernel.stats.cache_path is None:  # it cannot be cached: compiled in this process, or not at all
        return bool(kernel.signatures)
    source = Path(kernel.py_func.__code__.co_filename)
    pattern = f"{source.stem}.{kernel.py_func.__qualname__}-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi"
    changed = source.stat().st_mtime
    return any(index.stat().st_mtime >= changed for index in Path(kernel.stats.cache_path).glob(pattern))


def compiling_notice(kernels: Iterable) -> str | None:
    """:data:`NOTICE` if none of the kernels has been compiled, else None: one is enough to show an earlier run."""
    return None if any(is_compiled(kernel) for kernel in kernels) else NOTICE

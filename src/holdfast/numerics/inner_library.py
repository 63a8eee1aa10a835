"""Inner kernels are kept as LLVM's intermediate code, and optimised once, inside the kernel that calls them.

numba optimises every function and makes machine code of it, with all that it calls inside. The machine code of a kernel
that only kernels call is never run: the caller takes in its intermediate code, and optimises all of it again.
Along a chain of calls the innermost kernel would be optimised as often as the chain is long. Measured: a fifth of the
time of the first certificate.

The library is one of numba's classes, of which two steps are replaced.
"""

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from holdfast.numerics.kernel_compiler import KernelCompiler, KernelLibrary

_ENVIRONMENT = "_ZN08NumbaEnv"  # how numba begins the name of the variable that points to a function's environment


class InnerLibrary(KernelLibrary):
    """The code of one inner kernel and of all that it calls, not optimised and without machine code."""

    _final_module: Any
    _shared_module: Any

    def _optimize_final_module(self) -> None:
        """Nothing: the kernel that calls is optimised with this inside."""

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

"""numba's compiler, less what costs compile time and no kernel needs.

numba documents compilers of one's own (``pipeline_class``). This one leaves passes over the code out, has LLVM optimise
functions less before they are linked, and compares options quickly. Measured: benchmarks/speed/README.md.
"""

import llvmlite.binding as llvm
import numba
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
    """The options of a kernel, quick to compare.

    While numba infers types it looks options up in dictionaries, fifty thousand times for the first certificate. Its
    own comparison goes through all options there are, and all have the same hash; here only those that were set count.
    """

    def __hash__(self):
        return hash(frozenset(self._values))

    def __eq__(self, other):
        return self._values == other._values if isinstance(other, KernelFlags) else NotImplemented


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel, of which LLVM optimises all at the end, with all that it calls, and little before."""

    def _optimize_functions(self, ll_module) -> None:
        """Take tuples apart, which leaves a seventh of the code; numba runs all passes here, and again at the end.

        numba keeps every variable in memory, where the large tuples of kernels are read and written whole.
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

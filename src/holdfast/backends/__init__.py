"""Data back ends: rows as arrays in this process, or in the blocks of a Dask collection.

``backend_for(X)`` returns the one that fits; learners and models call its methods and need not know which it is.

==================  ==========================================================================================
``base``            the Protocols that both back ends fulfil
``memory``          arrays, by ``array_rows``, ``array_triplets`` and ``sampled_objective``
``dask``            the only file that knows Dask: its engine, and how collections are taken apart
``engine``          what a system of workers must be able to do; ``dask`` has the one implementation
``blocked_*``       rows, triplets, objective and proxies whose parts lie on workers, for any engine
``worker_objects``  objects that are built on workers and stay there
``blocks``          plain functions of arrays: the work on one block of rows
==================  ==========================================================================================
"""

from holdfast.backends.base import Backend as Backend
from holdfast.backends.base import LabelledRows as LabelledRows
from holdfast.backends.base import ObjectiveLike as ObjectiveLike
from holdfast.backends.base import ProxySums as ProxySums
from holdfast.backends.base import Terms as Terms
from holdfast.backends.base import TripletData as TripletData
from holdfast.backends.choose import backend_for as backend_for
from holdfast.backends.choose import is_dask as is_dask
from holdfast.backends.choose import refuse_collection as refuse_collection
from holdfast.backends.decorators import by_blocks as by_blocks
from holdfast.backends.decorators import certified_by_blocks as certified_by_blocks

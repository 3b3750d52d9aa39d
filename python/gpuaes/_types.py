"""Types of arguments and results, by which mypy and pyright check calls of the package. Nothing looks at them at run time.

A function that returns bytes for bytes, and for an array one of the same package, has overloads: with `out`, for an array
of a package, which ElementsArray tells, for other arrays, whose package is not known, and for the rest.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterator, Protocol, Sequence, SupportsIndex, TypeVar, Union

if TYPE_CHECKING:
    # Of the checkers' own stubs: the package need not be installed.
    from typing_extensions import Buffer as Buffer
    from typing_extensions import TypeVar as _TypeVarWithDefault

    OutT = _TypeVarWithDefault("OutT", default=Any)
    DeviceT = _TypeVarWithDefault("DeviceT", default=Any)
else:
    Buffer = object
    OutT, DeviceT = TypeVar("OutT"), TypeVar("DeviceT")

T = TypeVar("T")
_T_co = TypeVar("_T_co", covariant=True)


class CudaArray(Protocol):
    """An array with `__cuda_array_interface__`."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class DLPackArray(Protocol):
    """An array with DLPack, which NumPy's stub has for numbers alone, and that of JAX in part."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class ElementsArray(Protocol[_T_co]):
    """An array of PyTorch, CuPy, NumPy or JAX. Its type may name that of its elements, which a result of bytes must not
    repeat: _T_co is the array with elements of any type."""

    @property
    def dtype(self) -> Any: ...
    def view(self, dtype: Any, /) -> _T_co: ...


Array = Union[CudaArray, DLPackArray, ElementsArray[Any]]
Data = Union[Buffer, Array]
"""What has memory. Whether it can be written, and whether it is of a device, is not part of its type."""

ArrayT = TypeVar("ArrayT", bound=Array)
DataT = TypeVar("DataT", bound=Data)


class Integers(Protocol):
    """Integers of 64 bits, in an array of NumPy or of the array module."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def tolist(self) -> list[int]: ...
    def tobytes(self) -> bytes: ...


class Numbers(Protocol):
    """A sequence of numbers, a range, or an array of NumPy or of the array module."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...
    def __iter__(self) -> Iterator[SupportsIndex]: ...


class TorchDevice(Protocol):
    """A torch.device."""

    @property
    def type(self) -> str: ...
    @property
    def index(self) -> Any: ...


Keys = Union[Data, Sequence[Data]]
Device = Union[SupportsIndex, str, TorchDevice]
Path = Union[str, "os.PathLike[str]"]
AnyPath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

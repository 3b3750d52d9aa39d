"""What the package sees of an object: memory, device, stream; and what it refuses.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import array
import gc
import mmap
import re
import sys
import types
import weakref

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
from gpuaes import _driver, _memory  # noqa: E402
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.ciphers import AES, CTR, Cipher  # noqa: E402
from gpuaes.random import Generator  # noqa: E402

DATA = bytes(range(48))


def bytes_at(memory):
    import ctypes

    return ctypes.string_at(memory.address, memory.bytes)


def empty_like(obj, count, dtype="uint8"):
    return _memory.new_like(_memory.view(obj), count, dtype)[0]


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, lambda d: array.array("I", d)])
def test_buffers_are_seen_where_they_are(make):
    value = make(DATA)
    memory = _memory.view(value)
    assert (memory.bytes, memory.device, memory.stream) == (48, None, 0)
    assert bytes_at(memory) == DATA


def test_memory_of_a_bytearray_stays_while_it_is_seen():
    value = bytearray(DATA)
    memory = _memory.view(value, writable=True)
    with pytest.raises(BufferError):
        value.extend(bytes(1000))
    del memory
    gc.collect()
    value.extend(bytes(1000))


def test_mapped_file_is_a_buffer():
    with mmap.mmap(-1, 4096) as mapped:
        memory = _memory.view(mapped, writable=True)
        assert memory.bytes == 4096
        del memory


@pytest.mark.parametrize("value", [b"", bytearray()])
def test_empty_buffer(value):
    assert _memory.view(value).bytes == 0


@pytest.mark.parametrize("value", ["text", 5, None, [1, 2], object()])
def test_other_objects_are_refused_by_name(value):
    with pytest.raises(TypeError, match="^what is .*expected"):
        _memory.view(value, name="what")


@pytest.mark.parametrize("value", [DATA, memoryview(DATA), memoryview(bytearray(DATA)).toreadonly()])
def test_read_only_memory_is_not_written(value):
    with pytest.raises(ValueError, match="^out .*read-only"):
        _memory.view(value, writable=True, name="out")


def test_memoryview_with_steps_is_refused():
    with pytest.raises(ValueError, match="^data .*not contiguous"):
        _memory.view(memoryview(DATA)[::2])


def test_names_of_members_are_no_types():
    import ctypes

    class Struct(ctypes.Structure):
        _fields_ = [("Offset", ctypes.c_int)]

    assert _memory.view(Struct(3)).bytes == 4
    numpy = pytest.importorskip("numpy")
    assert _memory.view(memoryview(numpy.zeros(2, [("Open", "f8")]))).bytes == 16
    with pytest.raises(TypeError, match="Python objects"):
        _memory.view(memoryview(numpy.zeros(2, [("a", "f8"), ("b", "O")])))


# ---- NumPy --------------------------------------------------------------------------------


def test_numpy_arrays_of_any_number_type():
    numpy = pytest.importorskip("numpy")
    for dtype in "?", "i1", "u2", ">i4", "f2", "f8", "c16", "M8[s]", "S5", [("a", "u1"), ("b", "f4")]:
        value = numpy.zeros((3, 4), dtype=dtype)
        memory = _memory.view(value, writable=True)
        assert (memory.address, memory.bytes, memory.kind) == (value.ctypes.data, value.nbytes, "numpy")


def test_numpy_arrays_that_are_refused():
    numpy = pytest.importorskip("numpy")
    whole = numpy.zeros((4, 6), dtype="u1")
    for value in whole.T, whole[:, ::2], whole[:, 1:], whole[::-1]:
        with pytest.raises(ValueError, match="^data .*not contiguous"):
            _memory.view(value)
    with pytest.raises(TypeError, match="has a mask"):
        _memory.view(numpy.ma.array([1, 2], mask=[0, 1]))
    with pytest.raises(TypeError, match="Python objects"):
        _memory.view(numpy.array([1, "a"], dtype=object))
    with pytest.raises(TypeError, match="Python objects"):
        _memory.view(memoryview(numpy.array([1, "a"], dtype=object)))
    whole.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        _memory.view(whole, writable=True)


def test_results_are_of_the_same_package():
    numpy = pytest.importorskip("numpy")
    like = empty_like(numpy.zeros(3, "f8"), 5)
    assert isinstance(like, numpy.ndarray) and like.dtype == "u1" and like.shape == (5,)
    assert type(empty_like(bytearray(3), 5)) is bytes
    with pytest.raises(ValueError, match="dtype"):
        empty_like(b"", 5, "float32")


# ---- JAX and PyTorch ------------------------------------------------------------------------


def test_jax_arrays_are_read_and_not_written():
    pytest.importorskip("jax")
    import jax.numpy

    value = jax.numpy.arange(6, dtype="float32")
    memory = _memory.view(value)
    assert memory.kind == "jax" and memory.bytes == 24
    with pytest.raises(ValueError, match="immutable"):
        _memory.view(value, writable=True)


def test_pytorch_tensors_of_the_cpu():
    torch = pytest.importorskip("torch")
    value = torch.arange(6, dtype=torch.float32)
    parameter = torch.nn.Parameter(value)
    with torch.no_grad():
        assert _memory.is_writable(_memory.view(parameter, writable=True))
    assert not _memory.is_writable(_memory.view(parameter))
    memory = _memory.view(value, writable=True)
    assert (memory.address, memory.bytes, memory.device, memory.kind) == (value.data_ptr(), 24, None, "torch")
    for refused in torch.zeros(4, 4).T, torch.zeros(8)[::2], torch.zeros(1, requires_grad=True):
        with pytest.raises(ValueError):
            _memory.view(refused, writable=True)
    with pytest.raises(ValueError, match="conj"):
        _memory.view(torch.zeros(4, dtype=torch.complex64).conj())
    with pytest.raises(TypeError, match="layout"):
        _memory.view(torch.zeros(4).to_sparse())


def test_pytorch_tensors_without_storage():
    """Wrappers have shape and type, and their data elsewhere; those of FakeTensorMode have none."""
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, shape, offset):
            return torch.Tensor._make_wrapper_subclass(cls, shape, strides=(1,), storage_offset=offset, dtype=torch.float32)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise NotImplementedError

    with FakeTensorMode() as mode:
        fakes = torch.zeros(100), torch.zeros(100)[5:]
    sentence = r"^what \(.*(Wrapper|FakeTensor)\) has no storage of its own: expected .*\.to_local\(\)"
    for tensor in Wrapper((100,), 0), Wrapper((100,), 5), *fakes:
        for writable in False, True:
            with pytest.raises(TypeError, match=sentence):
                _memory.view(tensor, writable=writable, name="what")
    assert _memory.view(torch.zeros(0)).bytes == 0
    assert _memory.view(torch.zeros(100)[5:]).bytes == 380
    # A result of what has storage would have none there.
    memory = _memory.view(torch.zeros(100))
    with mode, pytest.raises(TypeError, match="^result "):
        _memory.new_like(memory, 5)


def test_pytorch_that_says_that_a_tensor_has_no_storage(monkeypatch):
    """As newer versions do for tensors of FakeTensorMode and of torch.func."""
    torch = pytest.importorskip("torch")

    class Other(torch.Tensor):
        def data_ptr(self):
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    with pytest.raises(TypeError, match="^data .* has no storage of its own"):
        _memory.view(torch.zeros(5).as_subclass(Other))


def test_writing_to_a_tensor_is_noticed_by_pytorch():
    torch = pytest.importorskip("torch")
    if not hasattr(torch.autograd.graph, "increment_version"):
        pytest.skip("PyTorch is older than 2.1")
    value = torch.zeros(16)
    version = value._version
    _memory.written(_memory.view(value, writable=True))
    assert value._version > version


def test_stream_of_a_pytorch_tensor_is_its_devices_current_one(monkeypatch):
    """With a module that has what _view_torch() asks: PyTorch's CUDA is tried on a card alone."""

    class Tensor:
        layout, requires_grad, device = "strided", False, types.SimpleNamespace(type="cuda", index=3)
        is_contiguous = staticmethod(lambda: True)
        is_neg = is_conj = staticmethod(lambda: False)
        numel, element_size, data_ptr, storage_offset = (staticmethod(lambda n=n: n) for n in (5, 4, 0x7000, 2))

    streams, numbers = {3: 0x1234}, {}
    torch = types.SimpleNamespace(
        Tensor=Tensor, strided="strided", _C=types.SimpleNamespace(),
        cuda=types.SimpleNamespace(current_stream=lambda i: types.SimpleNamespace(cuda_stream=streams[i], **numbers)),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    memory = _memory.view(Tensor(), writable=True)
    assert (memory.address, memory.bytes, memory.device, memory.stream) == (0x7000, 20, 3, 0x1234)
    owners = []
    for numbers["stream_id"] in 35, 0x1234:  # one of PyTorch's own, and an ExternalStream
        owners.append(_memory.view(Tensor()).stream_owner)
    assert owners == [torch, None] and memory.stream_owner is None
    streams[3] = 2  # the per-thread default stream, which the legacy one orders
    assert _memory.view(Tensor()).stream == 0
    torch._C._cuda_getCurrentRawStream = lambda i: 77 + i
    assert _memory.view(Tensor()).stream == 80
    Tensor.device = types.SimpleNamespace(type="mps", index=0)
    with pytest.raises(TypeError, match="expected 'cuda' or 'cpu'"):
        _memory.view(Tensor())


# ---- Memory of a device ------------------------------------------------------------------------


def test_streams_of_cupy_that_it_did_not_make_have_no_owner(cupy, cuda_stream):
    array, own = cupy.empty(16, "u1"), cupy.cuda.Stream(non_blocking=True)
    with own:
        assert _memory.view(array).stream_owner is own
        own._foreign_stream_ref = object()  # as Stream.from_external() of CuPy 14 does
        assert _memory.view(array).stream_owner is None
        own._foreign_stream_ref = None
    with cupy.cuda.ExternalStream(cuda_stream):
        memory = _memory.view(array)
    assert (memory.stream, memory.stream_owner) == (cuda_stream, None)


def test_array_interface(device_array, cuda_stream):
    value = device_array(DATA, stream=cuda_stream)
    memory = _memory.view(value, writable=True)
    assert (memory.address, memory.bytes, memory.device, memory.stream) == (value.address, 48, 0, cuda_stream)
    for stream in None, 1, 2:
        assert _memory.view(device_array(DATA, stream=stream)).stream == 0
    with pytest.raises(ValueError, match="stream 0"):
        _memory.view(device_array(DATA, stream=0))
    with pytest.raises(ValueError, match="read-only"):
        _memory.view(device_array(DATA, read_only=True), writable=True)
    assert _memory.view(device_array(b"")).bytes == 0


def test_array_interface_with_strides(device_array):
    value = device_array(DATA)
    value.shape, value.typestr, value.strides = (4, 3), "<f4", (12, 4)
    assert _memory.view(value).bytes == 48
    value.strides = (4, 16)
    with pytest.raises(ValueError, match="not contiguous"):
        _memory.view(value)
    value.shape, value.strides = (1, 3), (999, 4)  # a length of 1 has no stride
    assert _memory.view(value).bytes == 12


def test_array_interface_with_any_elements(device_array):
    value = device_array(DATA)
    for value.typestr, size in ("<M8[ns]", 8), ("<m8[25s]", 8), ("|V12", 12), ("<U2", 8), ("|S3", 3), ("|b1", 1), (">c16", 16):
        value.shape = (48 // size,)
        interface = value.__cuda_array_interface__
        assert _memory.view(types.SimpleNamespace(__cuda_array_interface__=interface)).bytes == 48
    for wrong in "|t8", "f4", "<f", "|O8", 4:
        interface["typestr"] = wrong
        with pytest.raises(TypeError, match=f"^what.* (has the typestr {re.escape(repr(wrong))}|that are Python objects): expected"):
            _memory.view(types.SimpleNamespace(__cuda_array_interface__=interface), name="what")
    del interface["typestr"]
    with pytest.raises(TypeError, match="^what.__cuda_array_interface__ has no 'typestr': expected 'shape', 'typestr' and 'data'"):
        _memory.view(types.SimpleNamespace(__cuda_array_interface__=interface), name="what")


@pytest.mark.parametrize("shape", [(2**64 + 16,), (2**32, 2**32, 3), (2**63,), (-16,), (-4, -4)])
def test_lengths_that_c_functions_would_cut_off(shape, device_array, dlpack_array):
    value = device_array(DATA)
    value.shape = shape
    with pytest.raises(ValueError, match=r"^data has the shape .*: expected lengths of 0 or more, and less than 2\^63"):
        _memory.view(value)
    if max(shape) < 2**63:
        value = dlpack_array(DATA)
        value.shape = shape
        with pytest.raises(ValueError, match="^data has the shape"):
            _memory.view(value)


@pytest.mark.parametrize("beyond", [2**64, -(2**64)])
def test_addresses_that_c_functions_would_cut_off(beyond, device_array):
    value = device_array(DATA)
    value.offset = beyond
    with pytest.raises(ValueError, match="^data.__cuda_array_interface__ has the address .*: expected one of 64 bits"):
        _memory.view(value)


def test_bytes_of_the_host_beyond_32_bits():
    with mmap.mmap(-1, 2**32 + 12) as large:
        with pytest.raises(ValueError, match=f"^nonce has {2**32 + 12} bytes: expected 8 to 128"):
            gpuaes.aead.AESGCM(bytes(16)).encrypt(large, b"")


def test_arrays_without_memory(dlpack_array):
    value = dlpack_array(DATA, offset=16)
    value.memory = types.SimpleNamespace(address=0)
    with pytest.raises(TypeError, match="^data .* has 48 bytes and no memory"):
        _memory.view(value)


def test_address_that_no_device_has(device_array):
    value = device_array(DATA)
    host = bytearray(64)
    value.offset = _memory.view(host).address - value.memory.address
    with pytest.raises((ValueError, gpuaes.GpuaesError), match="data"):
        _memory.view(value)


def test_dlpack_array(dlpack_array):
    value = dlpack_array(DATA, typestr="<f4", offset=0)
    memory = _memory.view(value)
    assert (memory.address, memory.bytes, memory.device, memory.stream) == (value.address, 48, 0, 0)
    assert value.streams == [1]  # the legacy default stream waits for the array
    assert value.exported() == 1
    del memory
    gc.collect()
    assert value.exported() == 0
    with pytest.raises(ValueError, match="read-only"):
        _memory.view(value, writable=True)


@pytest.mark.parametrize(
    "function, work",
    [
        ("gpuaes_queue", lambda array: AESGCM(bytes(16)).encrypt(bytes(12), array)),
        ("gpuaes_stream_binding_aes", lambda array: Cipher(AES(bytes(16)), CTR(bytes(16))).encryptor().update(array)),
        ("gpuaes_random_queue", lambda array: Generator(1).random_(array)),
    ],
)
def test_arrays_are_kept_where_a_signal_comes_behind_the_work(function, work, device_array, monkeypatch):
    array = device_array(DATA)
    kept, real = weakref.ref(array), getattr(gpuaes._library.lib, function)

    def interrupted(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(gpuaes._library.lib, function, interrupted)
    with pytest.raises(KeyboardInterrupt):
        work(array)
    del array
    gc.collect()
    assert kept()
    _driver.reap(everything=True)
    gc.collect()
    assert not kept()


def test_dlpack_of_another_kind_of_device(dlpack_array):
    with pytest.raises(TypeError, match="type 10"):
        _memory.view(dlpack_array(DATA, device_type=10))


def test_result_for_an_array_without_a_package(device_array):
    made = empty_like(device_array(DATA), 7)
    assert isinstance(made, gpuaes.DeviceMemory) and len(made) == 7 and len(made.tobytes()) == 7
    assert _memory.view(made, writable=True).address == made.address


def test_arrays_of_jax_without_memory(monkeypatch):
    """Keys and traced arrays, which are of jax.Array, too."""

    class Key:
        pass

    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(Array=Key))
    with pytest.raises(TypeError, match="^data is .*Key: expected a JAX array with memory"):
        _memory.view(Key())


def test_devices_by_name_are_refused():
    for devices, said in ("cuda", "'cuda'"), (b"0", "b'0'"):
        with pytest.raises(TypeError, match=f"^devices is {said}: expected a list of ordinals"):
            gpuaes.start(devices)

"""gpuaes._columns: Steps are what arrays of the same numbers are, with NumPy and without."""
import operator
import sys

import pytest

from gpuaes import _columns
from gpuaes._places import Pieces
from gpuaes._columns import Steps, as_array, column, each, every, repeated


@pytest.fixture(params=["numpy", None])
def numbers_of(request, monkeypatch):
    """Columns of arrays."""
    if request.param:
        numpy = pytest.importorskip("numpy")
        return lambda numbers: numpy.array(numbers, "u8")
    monkeypatch.setitem(sys.modules, "numpy", None)
    return lambda numbers: _columns.array("Q", numbers)


def steps(rng, count, sign=1):
    return Steps(1000 * rng.randrange(20) + 20000, sign * rng.choice([0, 1, 16, 1000]), count)


def listed(made):
    return made if isinstance(made, (bool, int)) else as_array(made).tolist()


def test_steps_do_what_arrays_do(numbers_of, rng):
    for turn in range(400):
        count = rng.choice([1, 2, 3, 10])
        a, b = steps(rng, count, rng.choice([1, 1, -1])), steps(rng, count)
        x, y = numbers_of(a.tolist()), numbers_of(b.tolist())
        begin, number, end = rng.randrange(count), rng.randrange(3000), rng.choice([30000, 50000, 80000])
        for work in (
            lambda a, b: a,
            lambda a, b: a[begin:],
            lambda a, b: a[: -1 - begin],
            lambda a, b: int(a[-1 - begin]),
            lambda a, b: len(a),
            lambda a, b: each(operator.add, a, number),
            lambda a, b: each(operator.sub, a, number),
            lambda a, b: each(operator.add, a, b),
            lambda a, b: each(operator.sub, each(operator.add, a, b), a),
            lambda a, b: each(operator.and_, a, 15),
            lambda a, b: every(operator.le, a, b),
            lambda a, b: every(operator.ge, a, int(b[0])),
            lambda a, b: every(operator.eq, a, int(a[0])),
            lambda a, b: every(operator.eq, a, b),
            lambda a, b: every(operator.le, a[1:], b[:-1]),
            lambda a, b: _columns.equal(a, b),
            lambda a, b: _columns.woven(a, b),
            lambda a, b: _columns.greatest(a),
            lambda a, b: _columns.least(a),
            lambda a, b: _columns.total(a),
            lambda a, b: _columns.edges(a),
            lambda a, b: _columns.are_within(a, b, end),
            lambda a, b: _columns.are_apart(each(operator.sub, a, int(_columns.least(a)) - 5), each(operator.sub, b, int(b[0]) - 1)),
        ):
            wanted = listed(work(x, y))
            for mixed in (a, b), (a, y), (x, b):
                assert listed(work(*mixed)) == wanted, (a.tolist(), b.tolist(), number, end)


def test_columns_of_equal_steps_are_steps(numbers_of):
    for numbers in range(5, 50, 3), range(50, 5, -3), [7, 7, 7], [0, 5, 10], [9, 4], range(0):
        for given in numbers, list(numbers), numbers_of(list(numbers)):
            made = column(given)
            assert isinstance(made, Steps) or len(numbers) < 2
            assert made.tolist() == list(numbers) and as_array(made).tobytes() == made.tobytes()
    for numbers in [0, 5, 11], [0, 5, 4, 15], [3, 2**64 - 1, 1]:
        assert not isinstance(column(numbers_of(numbers)), Steps) and column(numbers).tolist() == numbers
    assert column([2**64 - 3, 2**64 - 2]).tolist() == [2**64 - 3, 2**64 - 2]
    assert column(repeated(4, 3)).tolist() == [4, 4, 4]
    for wrong in range(-1, 3), range(5, -5, -2), [1, -2, -5], range(2**64 - 1, 2**64 + 1):
        with pytest.raises(OverflowError):
            column(wrong)
    with pytest.raises(TypeError):
        column([0.5, 1.5])
    with pytest.raises(OverflowError):
        repeated(-5, 2)
    for wrong in Steps(-3, 1, 5), Steps(3, -1, 5), Steps(2**64 - 3, 1, 5):
        with pytest.raises(OverflowError):
            as_array(wrong)


def test_a_masked_array_is_refused():
    masked = pytest.importorskip("numpy").ma.array([0, 5, 10**12, 3], mask=[0, 0, 1, 0])
    with pytest.raises(TypeError, match="^an array has a mask"):
        column(masked)
    assert column(masked[:2]).tolist() == [0, 5]


@pytest.mark.parametrize("begins, lengths", [
    ([0, 984], 16), ([0, 985], 16), ([0, 8, 16], -5), ([0], -1), ([0, 2**64 - 8], 16), ([0, 2**63], [16, 2**63 + 4]),
    (range(5, -6, -5), 16), ([0, 0], 2**64), ([0, 1], [2**64 - 1, 2]), ([1000, 1000], 0), ([1001, 1001], 0), ([500, 0], [500, 501])])
def test_pieces_lie_within_their_array(begins, lengths, numbers_of, device_array):
    """Also where the array says its length by a number of NumPy."""
    sizes = lengths if isinstance(lengths, list) else [lengths] * len(begins)
    fits = all(0 <= begin and 0 <= size and begin + size <= 1000 for begin, size in zip(begins, sizes))
    room = device_array(bytes(1000))
    if numpy := sys.modules.get("numpy"):
        room.shape = (numpy.int64(1000),)
    for given in (list(begins), lengths), (begins, sizes):
        if fits:
            assert len(Pieces(room, *given).places("x")) == len(begins)
        else:
            with pytest.raises(ValueError, match=r"^x\["):
                Pieces(room, *given).places("x")

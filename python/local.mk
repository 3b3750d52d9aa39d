# The Python package: it is distributed, and `make install` leaves it alone, since where it belongs
# is for pip to say, or for a distribution: `pip install ./python`.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += $(call in_tree,$(addprefix python/,LICENSE README.md pyproject.toml gpuaes/*.py gpuaes/*/*.py gpuaes/py.typed))

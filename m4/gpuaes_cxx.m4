# GPUAES_CXX17
# Only the emulator, and so the tests, needs C++. Without it the rest is built.
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
AC_DEFUN([GPUAES_CXX17],
[AC_CACHE_CHECK([whether $CXX compiles C++17], [gpuaes_cv_cxx17],
 [AC_LANG_PUSH([C++])
  gpuaes_save_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS -std=c++17"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string_view>]],
                                  [[if constexpr (sizeof(int) > 1) return std::string_view{}.size();]])],
                 [gpuaes_cv_cxx17=yes], [gpuaes_cv_cxx17=no])
  CXXFLAGS=$gpuaes_save_CXXFLAGS
  AC_LANG_POP([C++])])
AM_CONDITIONAL([HAVE_CXX], [test "$gpuaes_cv_cxx17" = yes])
AS_IF([test "$gpuaes_cv_cxx17" = yes], [gpuaes_emulator_text=yes],
      [gpuaes_emulator_text="no, for want of a C++17 compiler: most tests cannot run"])
])

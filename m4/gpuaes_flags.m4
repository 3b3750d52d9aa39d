# GPUAES_FLAGS
# Warnings (always on), -Werror (on request), hardening, sanitizers. Sets
# GPUAES_CFLAGS, GPUAES_CXXFLAGS, GPUAES_CPPFLAGS, GPUAES_LDFLAGS (for
# everything), GPUAES_SHARED_LDFLAGS (for shared objects) and RPATH_LDFLAGS.
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
AC_DEFUN([GPUAES_FLAGS],
[AC_ARG_ENABLE([werror],
  [AS_HELP_STRING([--enable-werror], [take warnings for errors])], [], [enable_werror=no])
AC_ARG_ENABLE([sanitizer],
  [AS_HELP_STRING([--enable-sanitizer=LIST],
                  [build with -fsanitize=LIST, e.g. address,undefined or thread])],
  [AS_IF([test "$enableval" = yes], [enable_sanitizer=address,undefined])],
  [enable_sanitizer=no])

GPUAES_CFLAGS="-std=gnu11 -pthread"
GPUAES_CXXFLAGS="-std=c++17 -pthread"
GPUAES_CPPFLAGS=
GPUAES_LDFLAGS=-pthread
GPUAES_SHARED_LDFLAGS=

_GPUAES_COMPILER_FLAGS([-Wall -Wextra -Wpedantic -Wshadow -Wconversion])
AS_IF([test "$enable_werror" = yes], [_GPUAES_COMPILER_FLAGS([-Werror])])

AS_IF([test "$enable_sanitizer" != no],
 [gpuaes_flag="-fsanitize=$enable_sanitizer"
  _GPUAES_COMPILER_FLAGS([$gpuaes_flag -fno-sanitize-recover=all -fno-omit-frame-pointer])
  GPUAES_LDFLAGS="$GPUAES_LDFLAGS $gpuaes_flag"
  gpuaes_save_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS $gpuaes_flag"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [],
                 [AC_MSG_ERROR([programs do not link with $gpuaes_flag])])
  LDFLAGS=$gpuaes_save_LDFLAGS],
 [_GPUAES_TRY_CFLAG([-fstack-protector-strong])
  _GPUAES_TRY_CFLAG([-fstack-clash-protection])
  _GPUAES_TRY_CFLAG([-fcf-protection])
  # The same bytes, debugging information included, wherever source and build lie.
  gpuaes_flag='-ffile-prefix-map=$(srcdir)/= -ffile-prefix-map=$(abs_builddir)=.'
  _GPUAES_TRY_CFLAG([-ffile-prefix-map=a=b], [$gpuaes_flag])
  AS_CASE([" $CFLAGS $CPPFLAGS "],
    [*_FORTIFY_SOURCE*], [],
    [*" -O"@<:@123s@:>@" "* | *" -Ofast "*], [_GPUAES_FORTIFY])
  GPUAES_SHARED_LDFLAGS="-Wl,-z,defs"])
GPUAES_LDFLAGS="$GPUAES_LDFLAGS -Wl,-z,noexecstack -Wl,-z,relro -Wl,-z,now"
# Threads of ours may outlive a dlclose().
GPUAES_SHARED_LDFLAGS="$GPUAES_SHARED_LDFLAGS -Wl,-z,nodelete"

# The module must find libgpuaes where no ldconfig has run yet.
RPATH_LDFLAGS=
AS_CASE([$(eval "eval echo $libdir")],
  [/usr/lib | /usr/lib64 | /usr/lib/* | /lib | /lib64], [],
  [RPATH_LDFLAGS='-Wl,-rpath,$(libdir)'])

AC_SUBST([GPUAES_CFLAGS])
AC_SUBST([GPUAES_CXXFLAGS])
AC_SUBST([GPUAES_CPPFLAGS])
AC_SUBST([GPUAES_LDFLAGS])
AC_SUBST([GPUAES_SHARED_LDFLAGS])
AC_SUBST([RPATH_LDFLAGS])
AM_CONDITIONAL([SANITIZED], [test "$enable_sanitizer" != no])
])

AC_DEFUN([_GPUAES_COMPILER_FLAGS],
[GPUAES_CFLAGS="$GPUAES_CFLAGS $1"
GPUAES_CXXFLAGS="$GPUAES_CXXFLAGS $1"])

# 3 where compiler and C library know it: they warn otherwise.
AC_DEFUN([_GPUAES_FORTIFY],
[AC_MSG_CHECKING([which level of _FORTIFY_SOURCE there is])
gpuaes_save_CFLAGS=$CFLAGS
gpuaes_fortify=2
CFLAGS="$CFLAGS -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>
]], [])], [gpuaes_fortify=3])
CFLAGS=$gpuaes_save_CFLAGS
AC_MSG_RESULT([$gpuaes_fortify])
GPUAES_CPPFLAGS="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$gpuaes_fortify"
])

# _GPUAES_TRY_CFLAG(FLAG, [FLAGS TO ADD = FLAG])
AC_DEFUN([_GPUAES_TRY_CFLAG],
[AC_MSG_CHECKING([whether $CC accepts $1])
gpuaes_save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -Werror $1"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
                  [AC_MSG_RESULT([yes]); _GPUAES_COMPILER_FLAGS([m4_default([$2], [$1])])], [AC_MSG_RESULT([no])])
CFLAGS=$gpuaes_save_CFLAGS
])

# GPUAES_LIBCRYPTO(VERSION)
# Sets LIBCRYPTO_CFLAGS, LIBCRYPTO_LIBS and modulesdir. Works without pkg-config.
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
AC_DEFUN([GPUAES_LIBCRYPTO],
[PKG_CHECK_MODULES([LIBCRYPTO], [libcrypto >= $1],
  [gpuaes_libcrypto_text=$($PKG_CONFIG --modversion libcrypto)
   gpuaes_modulesdir=$($PKG_CONFIG --variable=modulesdir libcrypto)],
  [AS_IF([test -n "$PKG_CONFIG" && $PKG_CONFIG --exists libcrypto],
         [AC_MSG_ERROR([libcrypto is older than $1])])
   gpuaes_libcrypto_found=yes
   AC_CHECK_HEADERS([openssl/core_dispatch.h openssl/provider.h], [], [gpuaes_libcrypto_found=no])
   AC_CHECK_LIB([crypto], [OSSL_PROVIDER_load], [], [gpuaes_libcrypto_found=no])
   AS_IF([test $gpuaes_libcrypto_found = no],
         [AC_MSG_ERROR([libcrypto $1 or newer is needed, with its headers (Debian: libssl-dev)])])
   LIBS=$(AS_ECHO([" $LIBS "]) | sed 's/ -lcrypto / /')
   LIBCRYPTO_CFLAGS=
   LIBCRYPTO_LIBS=-lcrypto
   gpuaes_libcrypto_text="found without pkg-config"
   gpuaes_modulesdir=])

AC_ARG_WITH([modulesdir],
  [AS_HELP_STRING([--with-modulesdir=DIR],
                  [where the module goes [OpenSSL's own folder if that is under PREFIX,
                   else LIBDIR/ossl-modules]])],
  [], [with_modulesdir=])
AS_CASE([$with_modulesdir],
  [yes | no], [AC_MSG_ERROR([--with-modulesdir wants a directory])],
  [?*], [modulesdir=$with_modulesdir],
  [AS_IF([test -z "$gpuaes_modulesdir" && test -n "$OPENSSL"],
         [gpuaes_modulesdir=$("$OPENSSL" version -m 2>/dev/null |
                              sed -n 's/^MODULESDIR: "\(.*\)"$/\1/p')])
   # Under another prefix OpenSSL's folder is the host's, and not ours to write to.
   gpuaes_prefix=$prefix
   AS_IF([test "$gpuaes_prefix" = NONE], [gpuaes_prefix=$ac_default_prefix])
   AS_CASE([$gpuaes_modulesdir],
     ["$gpuaes_prefix"/lib*], [modulesdir=$gpuaes_modulesdir],
     [modulesdir=$libdir/ossl-modules])])
AC_SUBST([modulesdir])
])

# GPUAES_LIBBASE64
# The fastest Base64 on a CPU, where it is installed: github.com/aklomp/base64.
AC_DEFUN([GPUAES_LIBBASE64],
[AC_ARG_WITH([libbase64],
  [AS_HELP_STRING([--without-libbase64], [do Base64 on the CPU by libcrypto alone])],
  [], [with_libbase64=check])
 LIBBASE64_LIBS=
 gpuaes_base64_text="by libcrypto"
 AS_IF([test "$with_libbase64" != no],
  [gpuaes_save_LIBS=$LIBS
   gpuaes_have_libbase64=no
   AC_CHECK_HEADER([libbase64.h],
    [AC_SEARCH_LIBS([base64_encode], [base64],
      [AS_IF([test "$ac_cv_search_base64_encode" != "none required"],
             [gpuaes_have_libbase64=yes LIBBASE64_LIBS=$ac_cv_search_base64_encode])])])
   LIBS=$gpuaes_save_LIBS
   AS_IF([test $gpuaes_have_libbase64 = yes],
         [AC_DEFINE([HAVE_LIBBASE64], [1], [Define to 1 if libbase64 is linked.])
          gpuaes_base64_text="by libbase64"],
         [test "$with_libbase64" = yes],
         [AC_MSG_ERROR([--with-libbase64 was given, but there is none])])])
 AC_SUBST([LIBBASE64_LIBS])
])

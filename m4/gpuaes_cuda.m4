# GPUAES_CUDA
# Finds nvcc and the architectures to build the kernels for, or an image of them that was
# built elsewhere. Sets NVCC, CUDA_CPPFLAGS (for cuda.h), CUDA_LIBS (the driver, for an
# example), CUDA_GENCODE, CUDA12_GENCODE, KERNEL_IMAGE, KERNELS_BUILT, and the conditionals
# HAVE_CUDA (an nvcc), HAVE_CUDA12 (one of CUDA 12 besides), HAVE_KERNEL_IMAGE, HAVE_KERNELS
# (compiled or an image), HAVE_CUDA_H and HAVE_LIBCUDA. The library and the provider link nothing of it.
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
AC_DEFUN([GPUAES_CUDA],
[AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda@<:@=DIR|no@:>@],
                  [CUDA toolkit to build the kernels with @<:@PATH, CUDA_HOME, /usr/local/cuda@:>@])],
  [], [with_cuda=check])
AC_ARG_WITH([cuda-arch],
  [AS_HELP_STRING([--with-cuda-arch=LIST],
                  [compute capabilities, e.g. "80 90" @<:@75 80 86 89 90 100 120@:>@])],
  [], [with_cuda_arch=])
AC_ARG_WITH([kernel-image],
  [AS_HELP_STRING([--with-kernel-image=FILE],
                  [kernels that "make kernel-image" built elsewhere, instead of compiling them])],
  [], [with_kernel_image=no])
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCC12], [CUDA compiler of CUDA 12, besides a newer one: for drivers before 580])
AC_ARG_VAR([NVCCFLAGS], [CUDA compiler flags])
: ${NVCCFLAGS="-O3"}

gpuaes_have_cuda=no
AS_IF([test "$with_cuda" != no],
 [AS_CASE([$with_cuda],
   [yes | check],
    [AS_IF([test -z "$NVCC"],
      [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin])])],
   [NVCC=$with_cuda/bin/nvcc])
  AS_IF([test -n "$NVCC"], [_GPUAES_NVCC_WORKS])
  AS_IF([test "$gpuaes_have_cuda" = no && test "$with_cuda" != check],
        [AC_MSG_ERROR([--with-cuda=$with_cuda was given, but no nvcc that works was found])])])

CUDA_CPPFLAGS= CUDA_LIBS= CUDA_GENCODE= CUDA12_GENCODE= gpuaes_have_cuda_h=no
gpuaes_cuda_text=no gpuaes_cuda_targets_text=none KERNEL_IMAGE= KERNELS_BUILT=
AS_IF([test $gpuaes_have_cuda = yes], [_GPUAES_CUDA_TARGETS _GPUAES_CUDA_H])
AS_IF([test "$with_kernel_image" != no], [_GPUAES_KERNEL_IMAGE],
      [test $gpuaes_have_cuda = yes && test -n "$NVCC12"], [_GPUAES_CUDA12])
AS_CASE([$KERNELS_BUILT],
  [12.* | *', 12.'*], [gpuaes_driver_text='525 or newer'],
  [?*], [gpuaes_driver_text='580 or newer; NVCC12=NVCC adds kernels for 525'],
  [gpuaes_driver_text='none is used'])
AS_IF([test -n "$KERNELS_BUILT"],
      [AC_DEFINE_UNQUOTED([GPUAES_CUDA_BUILD], ["$KERNELS_BUILT"],
                          [Toolkit version and architectures of the kernels.])])
AS_IF([test $gpuaes_have_cuda = yes],
      [AC_DEFINE([GPUAES_HAVE_NVCC], [1], [Kernels of tests and of the benchmark are compiled.])])

AC_SUBST([KERNEL_IMAGE])
AC_SUBST([KERNELS_BUILT])
AM_CONDITIONAL([HAVE_KERNELS], [test -n "$KERNELS_BUILT"])
AM_CONDITIONAL([HAVE_KERNEL_IMAGE], [test -n "$KERNEL_IMAGE"])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_LIBS])
AC_SUBST([CUDA_GENCODE])
AC_SUBST([CUDA12_GENCODE])
AM_CONDITIONAL([HAVE_CUDA12], [test -n "$CUDA12_GENCODE"])
AM_CONDITIONAL([HAVE_CUDA], [test $gpuaes_have_cuda = yes])
AM_CONDITIONAL([HAVE_CUDA_H], [test $gpuaes_have_cuda_h = yes])
AM_CONDITIONAL([HAVE_LIBCUDA], [test $gpuaes_have_cuda_h = yes && test -n "$CUDA_LIBS"])

# The kernels depend on this file, so that other flags make them again.
AC_CONFIG_COMMANDS([cuda/kernels.flags],
 [AS_MKDIR_P([cuda])
  AS_ECHO(["$gpuaes_kernel_flags"]) > cuda/kernels.flags.new
  AS_IF([cmp -s cuda/kernels.flags.new cuda/kernels.flags 2>/dev/null],
        [rm -f cuda/kernels.flags.new],
        [mv -f cuda/kernels.flags.new cuda/kernels.flags])],
 [gpuaes_kernel_flags='$NVCC $NVCCFLAGS $CUDA_GENCODE $KERNEL_IMAGE ${CUDA12_GENCODE:+$NVCC12 $CUDA12_GENCODE}'])
])

# An nvcc may be there and refuse the host compiler, so try it.
AC_DEFUN([_GPUAES_NVCC_WORKS],
[AC_MSG_CHECKING([whether $NVCC works])
cat > conftest.cu <<_ACEOF
extern "C" __global__ void kernel(int *p) { *p = 1; }
_ACEOF
AS_IF(["$NVCC" $NVCCFLAGS -fatbin -std=c++17 -o conftest.fatbin conftest.cu \
           >&AS_MESSAGE_LOG_FD 2>&1 && test -s conftest.fatbin],
      [gpuaes_have_cuda=yes])
rm -f conftest.cu conftest.fatbin
AC_MSG_RESULT([$gpuaes_have_cuda])
])

AC_DEFUN([_GPUAES_CUDA_TARGETS],
[gpuaes_cuda_version=$("$NVCC" --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p')
gpuaes_nvcc_knows=" $("$NVCC" --list-gpu-arch 2>/dev/null | sed 's/compute_//' | tr '\n' ' ') "
AC_MSG_CHECKING([which architectures to build kernels for])
gpuaes_arch_list= gpuaes_arch_highest=0
for gpuaes_arch in $(AS_ECHO(["${with_cuda_arch:-75 80 86 89 90 100 120}"]) |
                     tr ',;' '  ' | sed 's/sm_//g'); do
    AS_CASE(["$gpuaes_nvcc_knows"],
      [*" $gpuaes_arch "*],
       [gpuaes_arch_list="$gpuaes_arch_list $gpuaes_arch"
        AS_IF([test "$gpuaes_arch" -gt $gpuaes_arch_highest], [gpuaes_arch_highest=$gpuaes_arch])],
      [AS_IF([test -n "$with_cuda_arch"],
             [AC_MSG_ERROR([this nvcc does not know sm_$gpuaes_arch; it knows$gpuaes_nvcc_knows])])])
done
AS_IF([test $gpuaes_arch_highest = 0], [AC_MSG_ERROR([none that this nvcc knows])])
gpuaes_cuda_targets_text=
for gpuaes_arch in $gpuaes_arch_list; do
    gpuaes_ptx=$gpuaes_arch
    AS_CASE(["$gpuaes_arch,$gpuaes_arch_list "],
      # The hybrid kernels use what only 9.0 has, and every device of 9.0.
      [90,*], [gpuaes_arch=90a gpuaes_ptx=90a],
      # The PTX of these is that of 8.0, which takes most of the time: nvcc makes it once.
      [86,*' 80 '* | 89,*' 80 '*], [gpuaes_ptx=80])
    CUDA_GENCODE="$CUDA_GENCODE -gencode arch=compute_$gpuaes_ptx,code=sm_$gpuaes_arch"
    gpuaes_cuda_targets_text="$gpuaes_cuda_targets_text sm_$gpuaes_arch"
done
gpuaes_arch=compute_$gpuaes_arch_highest
CUDA_GENCODE="$CUDA_GENCODE -gencode arch=$gpuaes_arch,code=$gpuaes_arch"
gpuaes_cuda_targets_text=$(AS_ECHO(["$gpuaes_cuda_targets_text $gpuaes_arch"]) | sed 's/^ //')
AC_MSG_RESULT([$gpuaes_cuda_targets_text])
gpuaes_cuda_text="$gpuaes_cuda_version ($NVCC)"
KERNELS_BUILT="$gpuaes_cuda_version $gpuaes_cuda_targets_text"
])

# Kernels of CUDA 12 behind those of a newer one, whose machine code drivers before 580 do not load.
# There 8.6 and 8.9 run what is compiled for 8.0, and PTX is of no use: such a driver is older than
# the GPUs that it would be for.
AC_DEFUN([_GPUAES_CUDA12],
[AC_MSG_CHECKING([which architectures to build kernels for by NVCC12=$NVCC12])
gpuaes_cuda12_version=$("$NVCC12" --version 2>&AS_MESSAGE_LOG_FD | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p')
gpuaes_nvcc12_knows=" $("$NVCC12" --list-gpu-arch 2>&AS_MESSAGE_LOG_FD | sed 's/compute_//' | tr '\n' ' ') "
AS_CASE([$gpuaes_cuda12_version],
  [12.*], [],
  [AC_MSG_ERROR([it is of CUDA "$gpuaes_cuda12_version", expected 12])])
AS_IF([test "${gpuaes_cuda_version%%.*}" -gt 12],
 [gpuaes_cuda12_targets=
  for gpuaes_arch in $gpuaes_arch_list; do
      AS_CASE(["$gpuaes_arch,$gpuaes_arch_list ,$gpuaes_nvcc12_knows"],
        [86,*' 80 '*,* | 89,*' 80 '*,*], [],
        [*,*,*" $gpuaes_arch "*],
         [AS_IF([test $gpuaes_arch = 90], [gpuaes_arch=90a])
          CUDA12_GENCODE="$CUDA12_GENCODE -gencode arch=compute_$gpuaes_arch,code=sm_$gpuaes_arch"
          gpuaes_cuda12_targets="$gpuaes_cuda12_targets sm_$gpuaes_arch"])
  done
  AC_MSG_RESULT([${gpuaes_cuda12_targets:-none that it knows}])],
 [AC_MSG_RESULT([none: $NVCC is as old])])
AS_IF([test -n "$CUDA12_GENCODE"],
 [echo 'extern "C" __global__ void kernel(int *p) { *p = 1; }' >conftest.cu
  AS_IF(["$NVCC12" $NVCCFLAGS -fatbin -std=c++17 $CUDA12_GENCODE -o conftest.fatbin conftest.cu \
             >&AS_MESSAGE_LOG_FD 2>&1 && test -s conftest.fatbin], [],
        [AC_MSG_ERROR([NVCC12=$NVCC12 does not work; config.log has what it said])])
  rm -f conftest.cu conftest.fatbin
  gpuaes_cuda_text="$gpuaes_cuda_text and $gpuaes_cuda12_version ($NVCC12)"
  gpuaes_cuda_targets_text="$gpuaes_cuda_targets_text; of CUDA 12$gpuaes_cuda12_targets"
  KERNELS_BUILT="$KERNELS_BUILT, $gpuaes_cuda12_version$gpuaes_cuda12_targets"])
])

# It must be of these very sources: cuda/kernels/manifest compares.
AC_DEFUN([_GPUAES_KERNEL_IMAGE],
[AS_CASE([$with_kernel_image],
  [yes | ''], [AC_MSG_ERROR([--with-kernel-image needs a FILE])],
  [*@<:@!A-Za-z0-9_./+,@=-@:>@*],
   [AC_MSG_ERROR([make cannot use a file of this name: --with-kernel-image=$with_kernel_image])],
  [/*], [KERNEL_IMAGE=$with_kernel_image],
  [KERNEL_IMAGE=$(pwd)/$with_kernel_image])
AC_MSG_CHECKING([kernel image $KERNEL_IMAGE])
KERNELS_BUILT=$("$srcdir/cuda/kernels/manifest" check "$KERNEL_IMAGE" 2>conftest.err) ||
    { AC_MSG_RESULT([refused])
      gpuaes_why=$(sed 's/^manifest: //' conftest.err)
      rm -f conftest.err
      AC_MSG_ERROR([--with-kernel-image: $gpuaes_why]); }
rm -f conftest.err
AC_MSG_RESULT([built with $KERNELS_BUILT])
gpuaes_cuda_targets_text=$(AS_ECHO(["$KERNELS_BUILT ($KERNEL_IMAGE)"]) |
    sed -E 's/(@<:@0-9@:>@+@<:@.@:>@@<:@0-9.@:>@+) (@<:@a-z0-9_ @:>@*@<:@a-z0-9@:>@)/\2, built with \1/g')
])

AC_DEFUN([_GPUAES_CUDA_H],
[gpuaes_cuda_root=$(dirname "$(dirname "$(readlink -f "$NVCC")")")
for gpuaes_dir in "$gpuaes_cuda_root/include" "$gpuaes_cuda_root"/targets/*/include /usr/include; do
    AS_IF([test $gpuaes_have_cuda_h = no && test -f "$gpuaes_dir/cuda.h"],
          [gpuaes_have_cuda_h=yes
           AS_IF([test "$gpuaes_dir" != /usr/include],
                 [CUDA_CPPFLAGS="-isystem $gpuaes_dir"])])
done
# The toolkit has a stub to link against, which may be of another processor than what is
# built, and which the compiler from PyPI comes without; the driver itself comes with the machine.
gpuaes_save_LIBS=$LIBS
for gpuaes_dir in "$gpuaes_cuda_root/lib64/stubs" "$gpuaes_cuda_root"/targets/*/lib/stubs \
                  "${CUDA_HOME:-/usr/local/cuda}/lib64/stubs" /usr/lib/*-linux-gnu/stubs; do
    AS_IF([test -z "$CUDA_LIBS" && test -f "$gpuaes_dir/libcuda.so"],
          [LIBS="-L$gpuaes_dir -lcuda"
           AC_LINK_IFELSE([AC_LANG_CALL([], [cuInit])], [CUDA_LIBS=$LIBS])])
done
LIBS=$gpuaes_save_LIBS
])

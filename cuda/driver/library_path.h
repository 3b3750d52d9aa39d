/*
 * Where the driver's library was when this one was loaded.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_DRIVER_LIBRARY_PATH_H
#define GPUAES_CUDA_DRIVER_LIBRARY_PATH_H

/*
 * Returns the absolute path at which the dynamic linker would have found libcuda.so.1 when this
 * library was loaded: in the folders of DT_RPATH, LD_LIBRARY_PATH and DT_RUNPATH, by its cache,
 * in its own folders. Relative folders are passed over. NULL, with a sentence in *why, if it was
 * not there, if another file is there now, and in a privileged process (AT_SECURE), which never
 * looks.
 */
const char *driver_path(const char **why);

#endif

/*
 * Which checker the emulator runs under, and what it has to be told.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_SANITIZERS_H
#define GPUAES_EMULATOR_SANITIZERS_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATOR_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define EMULATOR_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define EMULATOR_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define EMULATOR_TSAN 1
#endif

#ifdef EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#endif

#ifdef EMULATOR_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(begin, end) ((void)(begin), (void)(end))
#define VALGRIND_MAKE_MEM_UNDEFINED(p, bytes) ((void)(p), (void)(bytes))
#endif

#endif

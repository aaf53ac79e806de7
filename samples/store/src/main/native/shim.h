// SPDX-License-Identifier: Apache-2.0
// Between a JVM and the files of a store. Everything here runs under one lock, so that a power cut meets a state that exists.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

// The kinds of operations that are counted; the letters stand in the log.
enum op { OP_CREATE = 'c', OP_WRITE = 'w', OP_TRUNCATE = 't', OP_SYNC = 's', OP_RENAME = 'r', OP_LINK = 'l', OP_UNLINK = 'u', OP_MKDIR = 'm' };

// What a power cut leaves of that which was not flushed.
enum keep { KEEP_NOTHING, KEEP_SOME, KEEP_TORN };

// Shared with the driver and the victim through a mapped file; all fields are 64 bits, in the machine's byte order.
struct control {
    volatile int64_t clock_seconds; // added to the clock of the day
    volatile int64_t disarmed;      // nothing fails any more
    volatile int64_t operations;    // counted so far
};

// undo.c: what is not durable yet, and the state without it
void undo_init(const char *stash, unsigned seed);
void undo_will_remove(const char *path);                                   // before a name goes or is replaced
void undo_named(const char *path, bool directory);                         // a name was made
void undo_unlinked(const char *path);
void undo_renamed(const char *from, const char *to);
void undo_will_write(int fd, off_t at, size_t length);                     // before: keeps the old bytes
void undo_wrote(int fd, off_t at, const void *bytes, size_t length);       // after: with as many as were written
void undo_will_truncate(int fd, off_t length);
void undo_flushed(int fd, const char *path);
_Noreturn void undo_and_die(enum keep keep);

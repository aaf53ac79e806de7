/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define MAX_SANDBOXES 1024
#define MAX_SURVIVORS 32768
#define MAX_OBJECTS 16384 /* per sandbox */
#define MAX_CALLS 600

/* The level of a sandbox's cgroup below the root of the v2 hierarchy: /crab/<id>. */
const volatile __u32 cgroup_level = 2;

/* The running epoch, advanced by the Java side only. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} epochs SEC(".maps");

/* cgroup id -> sandbox */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SANDBOXES);
	__type(key, __u64);
	__type(value, struct sandbox);
} sandboxes SEC(".maps");

/* inode of a pid namespace -> cgroup id of its sandbox; finds the sandbox of a task that has already left it */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SANDBOXES);
	__type(key, __u32);
	__type(value, __u64);
} pid_namespaces SEC(".maps");

/* tgid -> survivor; entries are made and removed by the Java side */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SURVIVORS);
	__type(key, __u32);
	__type(value, struct survivor);
} survivors SEC(".maps");

/* tid -> thread */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SURVIVORS);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* cgroup id -> its touched objects; a full one overflows alone */
struct object_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_OBJECTS);
	__uint(key_size, sizeof(struct object)); /* __type in an inner map loses the struct's BTF */
	__uint(value_size, sizeof(__u64));
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, MAX_SANDBOXES);
	__type(key, __u64);
	__array(values, struct object_map);
} objects SEC(".maps");

/* call number -> enum call_class */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CALLS);
	__type(key, __u32);
	__type(value, enum call_class);
} call_classes SEC(".maps");

/* Only locals and inner maps use this type: a global keeps it in the object's BTF, where Java reads its layout. */
const struct object *object_layout __attribute__((unused));

/* SPDX-License-Identifier: GPL-2.0 */
/* Finding the sandbox of a task or socket, and marking it. */
#pragma once

static __always_inline __u64 cgroup_id_at_level(struct cgroup *cgroup)
{
	struct cgroup *ancestor = 0;

	if (!cgroup || BPF_CORE_READ(cgroup, level) < (int)cgroup_level)
		return 0;
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), &cgroup->ancestors[cgroup_level & 15]);
	return ancestor ? BPF_CORE_READ(ancestor, kn, id) : 0;
}

static __noinline __u64 task_cgroup_id(struct task_struct *task)
{
	return cgroup_id_at_level(BPF_CORE_READ(task, cgroups, dfl_cgrp));
}

static __always_inline __u32 current_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

/* The current task's sandbox, or null if it is in none or is the sandbox's pid 1. */
static __always_inline struct sandbox *current_sandbox(__u64 *id)
{
	struct sandbox *sandbox;

	*id = bpf_get_current_ancestor_cgroup_id(cgroup_level);
	if (!*id)
		return 0;
	sandbox = bpf_map_lookup_elem(&sandboxes, id);
	if (!sandbox || sandbox->init_tgid == current_tgid())
		return 0;
	return sandbox;
}

static __always_inline void mark(struct sandbox *sandbox, enum mark what)
{
	if (what < MARK_COUNT)
		stamp(&sandbox->stamp[what]);
}

/*
 * As mark(), for what the current task did. A survivor that does anything of note has run, even in the stint after a thaw that
 * otherwise counts as the continuation of what was captured (see run.h).
 */
static __noinline void did(struct sandbox *sandbox, enum mark what)
{
	__u32 tgid = current_tgid();
	struct survivor *survivor = bpf_map_lookup_elem(&survivors, &tgid);

	if (survivor)
		stamp(&survivor->ran);
	mark(sandbox, what);
}

/* Notes a touched object. */
static __noinline void touch(struct sandbox *sandbox, __u64 id, enum object_kind kind, __u64 inode)
{
	struct object key = {.inode = inode, .kind = kind};
	void *map = bpf_map_lookup_elem(&objects, &id);
	__u64 *slot, fresh = 0;

	if (!map) {
		mark(sandbox, MARK_OVERFLOW);
		return;
	}
	slot = bpf_map_lookup_elem(map, &key);
	if (!slot) {
		bpf_map_update_elem(map, &key, &fresh, BPF_NOEXIST);
		slot = bpf_map_lookup_elem(map, &key);
	}
	if (slot)
		stamp(slot);
	else
		mark(sandbox, MARK_OVERFLOW);
}

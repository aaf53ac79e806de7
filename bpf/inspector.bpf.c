// SPDX-License-Identifier: GPL-2.0
/*
 * The inspector's tracepoint tier: nominates what a sandbox may have changed. User space verifies what it can and takes the rest as
 * changed. BTF tracepoints only, no trampolines: they also attach where fentry and LSM programs are refused.
 */
#include "lib/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "lib/shared.h"
#include "lib/maps.h"
#include "lib/stamp.h"
#include "lib/sandbox.h"
#include "lib/files.h"
#include "lib/run.h"
#include "lib/calls.h"

char LICENSE[] SEC("license") = "GPL"; /* the tracing helpers are for GPL programs only */

#define TS_COMPAT 2

/* Attached only while a tool runs: its presence slows every call of the host. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sandbox *sandbox;
	enum call_class *class;
	__u32 number;
	__u64 id;

	if (task->thread_info.status & TS_COMPAT) {
		sandbox = current_sandbox(&id);
		if (sandbox)
			did(sandbox, MARK_FOREIGN_ABI);
		return 0;
	}
	if ((long)regs->orig_ax == -1)
		return 0; /* the return from a signal handler: the call below it is seen by itself */
	number = regs->orig_ax;
	/* The class first: an array look-up is cheaper than finding the sandbox, and most calls end here. */
	class = bpf_map_lookup_elem(&call_classes, &number);
	if (class && *class == CLASS_NOTHING)
		return 0;
	sandbox = current_sandbox(&id);
	if (!sandbox)
		return 0;
	did_call(sandbox, id, class ? *class : CLASS_UNKNOWN, regs, result);
	return 0;
}

static __always_inline int dirtied(struct inode *inode)
{
	struct sandbox *sandbox;
	__u32 type;
	__u64 id;

	sandbox = current_sandbox(&id);
	if (!sandbox || !inode)
		return 0;
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type != S_IFREG && type != S_IFDIR && type != S_IFLNK)
		return 0; /* time stamps of a FIFO's or device's name */
	did(sandbox, MARK_INODE_DIRTY);
	touch(sandbox, id, OBJECT_FILE, upper_inode_number(inode));
	return 0;
}

SEC("tp_btf/writeback_mark_inode_dirty")
int BPF_PROG(on_mark_inode_dirty, struct inode *inode, int flags)
{
	return dirtied(inode);
}

SEC("tp_btf/ext4_mark_inode_dirty")
int BPF_PROG(on_ext4_mark_inode_dirty, struct inode *inode, unsigned long caller)
{
	return dirtied(inode);
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_dirty_folio, struct folio *folio, struct address_space *mapping)
{
	return mapping ? dirtied(BPF_CORE_READ(mapping, host)) : 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	if (previous->mm)
		switched_out(previous);
	if (next->mm)
		switched_in(next);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 tid = task->pid;

	bpf_map_delete_elem(&threads, &tid);
	return 0;
}

/* A child that is born straight into another cgroup (clone3 with CLONE_INTO_CGROUP) raises no move. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u64 id = task_cgroup_id(parent);
	struct sandbox *sandbox = id ? bpf_map_lookup_elem(&sandboxes, &id) : 0;

	if (sandbox && BPF_CORE_READ(parent, cgroups, dfl_cgrp) != BPF_CORE_READ(child, cgroups, dfl_cgrp))
		mark(sandbox, MARK_LEFT_CGROUP);
	return 0;
}

#define TRACE_SIGNAL_IGNORED 1
#define TRACE_SIGNAL_ALREADY_PENDING 2
#define SIGCONT 18

/* Fires when a signal is queued, even for a target that is blocked, stopped or asleep. */
SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int number, void *info, struct task_struct *task, int group, int result)
{
	__u32 tgid = task->tgid;
	struct survivor *survivor = bpf_map_lookup_elem(&survivors, &tgid);

	if (!survivor)
		return 0;
	/* SIGCONT continues a stopped process even where it is ignored as a signal. */
	if (number == SIGCONT || (result != TRACE_SIGNAL_IGNORED && result != TRACE_SIGNAL_ALREADY_PENDING))
		stamp(&survivor->signalled);
	return 0;
}

/* Data, a connection or an error came in at a socket; runs in any context, so the socket's own cgroup counts. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_data_ready, const struct sock *sock)
{
	__u64 id = cgroup_id_at_level(BPF_CORE_READ(sock, sk_cgrp_data.cgroup));
	struct sandbox *sandbox = id ? bpf_map_lookup_elem(&sandboxes, &id) : 0;
	struct socket *socket;
	struct inode *inode;

	if (!sandbox)
		return 0;
	/*
	 * A connection that nobody has accepted yet has no socket. Its listener was told when it was made, which was in this turn, or its
	 * other end is a survivor's, which has to run to send.
	 */
	socket = BPF_CORE_READ(sock, sk_socket);
	if (!socket)
		return 0;
	inode = (void *)socket + bpf_core_field_offset(struct socket_alloc, vfs_inode);
	mark(sandbox, MARK_SOCKET);
	touch(sandbox, id, OBJECT_SOCKET, BPF_CORE_READ(inode, i_ino));
	return 0;
}

/* Fires after the move, when the task's cgroup is the new one: the pid namespace tells where it came from. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *destination, const char *path, struct task_struct *task, bool group)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct pid_namespace *namespace = 0;
	struct sandbox *sandbox;
	unsigned int level;
	__u32 number;
	__u64 *id;

	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	/* the task's own namespace and those above it; the host's own (level 0) is no sandbox's */
	for (int i = 0; i < 4; i++) {
		if (level == 0)
			return 0;
		bpf_probe_read_kernel(&namespace, sizeof(namespace), &pid->numbers[level & 31].ns);
		number = namespace ? BPF_CORE_READ(namespace, ns.inum) : 0;
		id = bpf_map_lookup_elem(&pid_namespaces, &number);
		sandbox = id ? bpf_map_lookup_elem(&sandboxes, id) : 0;
		if (sandbox) {
			mark(sandbox, MARK_LEFT_CGROUP);
			return 0;
		}
		level--;
	}
	return 0;
}

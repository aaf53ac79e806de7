/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

/*
 * Whether a survivor ran, and which runs are our own doing.
 *
 * Freezing the cgroup (or a tracer outside of it, such as CRIU) wakes every task once to park it, and thawing wakes it again to re-enter
 * the wait it was taken out of. Counted as runs, each capture would make the next turn look like one that changed processes, for ever.
 * So two stints are left out:
 *
 *  - into the stop: the task is scheduled with the freezer's trap pending and is parked before it can reach user mode;
 *  - out of the stop, up to the thread's next sleep, and at most RESUME_LIMIT_NS: it is the continuation of the captured state. What was
 *    captured is the thread at this very stop, and a tree restored from it makes the same stint. It counts as soon as the thread does
 *    anything that is seen outside of its own memory (did(), in sandbox.h) or does not settle down.
 *
 * A stop by a tracer within the sandbox is the sandbox's own doing and is not left out.
 */
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define __TASK_STOPPED 4
#define __TASK_TRACED 8
#define AT_REST (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE | __TASK_STOPPED | __TASK_TRACED)
#define JOBCTL_TRAP_FREEZE (1UL << 23)
#define RESUME_LIMIT_NS (5 * 1000 * 1000ULL)

static __always_inline bool stopped_from_outside(struct task_struct *task)
{
	if (BPF_CORE_READ(task, jobctl) & JOBCTL_TRAP_FREEZE)
		return true;
	if (BPF_CORE_READ(task, ptrace) && (BPF_CORE_READ(task, __state) & __TASK_TRACED))
		return task_cgroup_id(BPF_CORE_READ(task, parent)) != task_cgroup_id(task);
	return false;
}

static __always_inline void switched_in(struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);
	struct survivor *survivor = bpf_map_lookup_elem(&survivors, &tgid);
	struct thread *thread;

	if (!survivor || (BPF_CORE_READ(task, jobctl) & JOBCTL_TRAP_FREEZE))
		return;
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread) {
		stamp(&survivor->ran);
	} else if (thread->state == THREAD_PARKED) {
		thread->since_ns = bpf_ktime_get_ns();
		thread->state = THREAD_RESUMING;
	}
}

static __always_inline void switched_out(struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);
	struct survivor *survivor = bpf_map_lookup_elem(&survivors, &tgid);
	struct thread *thread;

	if (!survivor)
		return;
	if (stopped_from_outside(task)) {
		struct thread parked = {.tgid = tgid, .state = THREAD_PARKED};

		if (bpf_map_update_elem(&threads, &tid, &parked, BPF_ANY))
			stamp(&survivor->ran);
		return;
	}
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread) {
		stamp(&survivor->ran);
		return;
	}
	if (thread->state != THREAD_RESUMING)
		return;
	if (bpf_ktime_get_ns() - thread->since_ns > RESUME_LIMIT_NS)
		stamp(&survivor->ran);
	if (BPF_CORE_READ(task, __state) & AT_REST)
		bpf_map_delete_elem(&threads, &tid);
}

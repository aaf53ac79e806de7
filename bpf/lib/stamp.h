/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

/*
 * Why no event is lost at the switch of an epoch.
 *
 * Nothing is ever cleared: each mark holds the epoch in which it was last seen, and a turn owns all stamps >= the epoch it began with.
 * A program stores the epoch it read, then (the exchange is a full barrier) reads the epoch again; the Java side stores the new epoch,
 * then (full fence) reads the stamps. Of these two store-then-load pairs at least one sees the other's store: either Java sees the stamp
 * and the event counts for the turn that ends, or the program sees the new epoch and stamps again, and it counts for the next one. Both
 * may happen, which costs a save, never one lost.
 */
static __always_inline __u64 now(void)
{
	__u32 zero = 0;
	volatile __u64 *epoch = bpf_map_lookup_elem(&epochs, &zero);

	return epoch ? *epoch : ~0ULL;
}

static __noinline void stamp(__u64 *slot)
{
	__u64 epoch = now();

	/* already told, and told before the epoch could move on */
	if (*(volatile __u64 *)slot == epoch)
		return;
	for (int i = 0; i < 4; i++) {
		__u64 after;

		__sync_lock_test_and_set(slot, epoch);
		after = now();
		if (after == epoch)
			return;
		epoch = after;
	}
	/* The epoch moved four times within a few instructions: let this mark hold for every epoch. */
	__sync_lock_test_and_set(slot, ~0ULL);
}

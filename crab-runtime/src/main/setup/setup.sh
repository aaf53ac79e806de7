# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# `crab setup`: everything a machine needs, and only what is missing. Sourced by the launcher.
#
# What is missing is decided by looking for the program, header or library itself, not by asking the package database:
# that is fast (a setup with nothing to do takes well under a second), and it leaves alone what came another way.

setup() {
    setup_with setup_image
}

# For what starts no sandbox.
setup_without_image() {
    setup_with true
}

# setup_with COMMAND: all but the image, and COMMAND.
setup_with() {
    check_platform
    open_data_directory
    lock SETUP_LOCK "$CRAB_LIB" "another ./crab setup on this machine"
    setup_packages
    setup_jdk
    setup_maven
    setup_kernel
    setup_criu
    "$1"
    unlock SETUP_LOCK
}

check_platform() {
    [[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || fail PLATFORM_UNSUPPORTED \
        "Crab does not run on $(uname -s) $(uname -m)" "its native parts are built for Linux on x86_64 only" \
        "use such a machine"
    check_root
}

# CRIU does not work in a chroot: a process's root has to be that of its mount namespace. Joining the namespace that one
# is in goes to that root, so that the two can be compared. Only root may do it; who is not, is told so later.
check_root() {
    local here there
    ((EUID == 0)) && have nsenter || return 0
    here=$(stat -c %d:%i /) && there=$(nsenter --mount=/proc/self/ns/mnt stat -c %d:%i /) || return 0
    [[ $here == "$there" ]] || fail PLATFORM_UNSUPPORTED "Crab does not run in a chroot" \
        "CRIU can neither dump nor restore below a root that is not its mount namespace's" \
        "use a machine or a container (pivot_root)"
}

# Not "ldconfig | grep -q": grep leaves at the first match, ldconfig dies of the closed pipe, and pipefail calls that
# "not there".
have_library() {
    [[ $(ldconfig -p) == *"$1"* ]]
}

# The names bpf/Makefile tries: clang 14 or later, plain or with its number, and the same for llvm-strip.
CLANG_RELEASES=(14 19 18 17 16 15)

have_clang() {
    local release
    if have clang && (($(clang -dumpversion | cut -d. -f1) >= 14)) && have llvm-strip; then
        return
    fi
    for release in "${CLANG_RELEASES[@]}"; do
        have "clang-$release" && have "llvm-strip-$release" && return
    done
    return 1
}

setup_packages() {
    local runtime=() build=() wanted

    have runc || runtime+=(runc)
    have btrfs && have mkfs.btrfs || runtime+=(btrfs-progs)
    have ip || runtime+=(iproute2)
    have nsenter && have setpriv && have flock || runtime+=(util-linux)
    have mount || runtime+=(mount)
    have_library libbpf.so.1 || runtime+=(libbpf1)
    have_library libseccomp.so.2 || runtime+=(libseccomp2)
    install_packages "runtime packages" "${runtime[@]}"

    have gcc || build+=(gcc)
    have make || build+=(make)
    [[ -e /usr/include/stdio.h ]] || build+=(libc6-dev)
    [[ -e /usr/include/bpf/bpf_helpers.h ]] || build+=(libbpf-dev)
    have bpftool || build+=(bpftool)
    have mmdebstrap || [[ -e $IMAGE_STAMP ]] || build+=(mmdebstrap)
    have xz || build+=(xz-utils)
    if ! have_clang; then
        need_apt clang
        refresh_package_lists
        for wanted in "${CLANG_RELEASES[@]}"; do
            if first_available "clang-$wanted" >/dev/null; then
                build+=("clang-$wanted" "llvm-$wanted")
                break
            fi
        done
    fi
    install_packages "build packages" "${build[@]}"
    have_clang || fail PACKAGES_UNAVAILABLE "no clang 14 or newer" \
        "the distribution's archive has none under a name that setup knows" "install clang and run ./crab setup again"
}

# Only for `crab test` and `crab prove`, which make file systems of every type that they test.
setup_file_systems() {
    local makers=()

    have mkfs.xfs || makers+=(xfsprogs)
    have mkfs.ext4 || makers+=(e2fsprogs)
    install_packages "file systems to test on" "${makers[@]}"
}

# Only for the tests: one opens the page of `crab bench replay` in a real browser.
setup_browser() {
    local browser=()

    have chromium || browser+=(chromium)
    install_packages "a browser for the tests" "${browser[@]}"
}

setup_kernel() {
    setup_run_directory
    setup_cgroup
    setup_loop
}

# CRIU probes the kernel at every start unless it may keep what it found in its run directory, and it does so only on
# tmpfs: probing costs as much as dumping a small tree. The dumps have a tmpfs of their own: they may take more than was
# expected, and where they are must not be where every sandbox's files, or the host's, need room. Two of them may come here
# at once, and one that mounted over the other's would hide what lies there.
setup_run_directory() {
    local above

    above=$(dirname -- "$CRAB_RUN")
    if ! (umask 077 && mkdir -p -- "$CRAB_RUN"); then
        fail IO_FAILED "$CRAB_RUN cannot be made" "mkdir was refused" "make $above writable"
    fi
    (
        flock 9
        [[ $(stat -f -c %T "$CRAB_RUN") == tmpfs ]] || mount_memory "$CRAB_RUN" ||
            say "note: no tmpfs on $CRAB_RUN; CRIU probes the kernel at every start, which makes captures slower"
        if ! mountpoint -q "$CRAB_RUN/dumps"; then
            (umask 077 && mkdir -p -- "$CRAB_RUN/dumps") && mount_memory "$CRAB_RUN/dumps" ||
                say "note: no tmpfs on $CRAB_RUN/dumps; dumps go to the disk, which makes captures slower"
        fi
    ) 9<"$above"
    # CRIU makes this file exclusively, so that one left by a killed CRIU would keep it from ever caching again.
    find "$CRAB_RUN" -maxdepth 1 -name criu.kdat.tmp -mmin +1 -delete
}

# The size is a bound, not a reservation.
mount_memory() {
    mount -t tmpfs -o mode=700,size=256m,nosuid,nodev,noexec crab "$1"
}

# The sandboxes' limits and the inspector go by the unified hierarchy. A pure v2 host has it; so has a hybrid one under
# "unified"; on a host with v1 alone it is mounted beside the others, which changes nothing for them.
setup_cgroup() {
    local place=/sys/fs/cgroup
    grep -q ' - cgroup2 ' /proc/self/mountinfo && return
    if mountpoint -q "$place"; then
        place=$place/unified
        mkdir -p "$place" 2>/dev/null || :
    fi
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$place" || fail CGROUP_V2_MISSING "no cgroup v2 hierarchy" \
        "none is mounted, and mounting one at $place was refused" "mount -t cgroup2 none /sys/fs/cgroup/unified"
}

# Needed where the data directory is not on btrfs: the snapshots then live in a btrfs file on a loop device.
setup_loop() {
    local number
    if ! grep -qw btrfs /proc/filesystems && have modprobe; then
        modprobe -q btrfs || :
    fi
    grep -qw btrfs /proc/filesystems || say "note: this kernel has no btrfs; ./crab doctor says what that means"
    if [[ ! -e /dev/loop-control ]]; then
        if have modprobe; then
            modprobe -q loop || :
        fi
        [[ -e /dev/loop-control ]] || mknod -m 0660 /dev/loop-control c 10 237 || :
    fi
    # Without udev nobody makes the nodes; the kernel's own devtmpfs does.
    for number in 0 1 2 3 4 5 6 7; do
        [[ -e /dev/loop$number ]] || mknod -m 0660 "/dev/loop$number" b 7 "$number" || :
    done
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# CRIU: find one that works on this kernel, or build one. Sourced by the launcher.
#
# What decides is criu-selftest.c, never a version. In order: $CRAB_CRIU, the one at $CRAB_LIB/criu/criu (where the
# Java side looks), criu in the path; then a build from the distribution's source package.
#
#     $CRAB_LIB/criu/criu         the program, or a link to the one of the system
#     $CRAB_LIB/criu/criu.path    which one is used: path, version, checksum, kernel
#     $CRAB_LIB/criu/recipe       checksum of how it was built, if setup built it; another one's is built anew
#     $CRAB_LIB/criu/passed/…     one empty file for every program that has passed: its checksum, that of the self-test,
#                                 and the kernel's release

CRIU_HOME=$CRAB_LIB/criu
CRIU=$CRIU_HOME/criu

# The release the self-test was written against. Its tarball is known by checksum; of a newer one the archive's
# signature is demanded, its checksum is printed, and the self-test decides. An older one is refused: releases before
# this one either cannot dump a TCP socket on current kernels or lack what Crab asks over RPC.
CRIU_PINNED_VERSION=4.2.1
CRIU_PINNED_SHA256=29ec0ee09e296479fe7048c80980e8ef1d0684d0b0204c2b101dfea19f6725b9

# Changes to its source for hosts that upstream does not have in mind; each says why. One that does not fit a newer release is
# left out: the self-test decides whether that matters here.
CRIU_PATCHES=("$CRAB_SETUP_DIR"/criu-patches/*.patch)

# Where the source package is taken from: the development suites of Debian, the first that has one.
CRIU_SUITES=(forky sid)

CRIU_BUILD_PACKAGES=(gcc make patch libc6-dev pkg-config xz-utils libprotobuf-dev libprotobuf-c-dev protobuf-c-compiler
    protobuf-compiler libcap-dev libnl-3-dev libnl-genl-3-dev libnet1-dev libbsd-dev uuid-dev libaio-dev)

SELFTEST_SOURCE=$CRAB_SETUP_DIR/criu-selftest.c

# passed_stamp PROGRAM: the file that says that exactly this program has passed exactly this test on exactly this kernel.
passed_stamp() {
    local program test
    program=$(sha256sum <"$1") && test=$(sha256sum <"$SELFTEST_SOURCE") || return 1
    printf '%s/passed/%s-%.16s-%s\n' "$CRIU_HOME" "${program%% *}" "$test" "$(uname -r)"
}

# criu_works PROGRAM: status 0 when it has passed, now or earlier.
criu_works() {
    local stamp status=0
    [[ -f $1 && -x $1 ]] || return 1
    stamp=$(passed_stamp "$(readlink -f -- "$1")") || return 1
    [[ -e $stamp ]] && return 0
    build_selftest
    step "self-test of CRIU at $1" run_selftest "$(readlink -f -- "$1")" || status=$?
    if ((status > 1)); then
        show_log_tail
        fail CRIU_SELFTEST_IMPOSSIBLE "whether CRIU works here cannot be found out" \
            "the self-test itself could not be carried out; its words are above" \
            "mend what it names: it needs root, new pid, mount, net and ipc namespaces, and a root that is a mount point"
    fi
    ((status == 0)) || return 1
    mkdir -p -- "${stamp%/*}"
    : >"$stamp"
}

# The tester is compiled where it runs; gcc is in the build packages anyway.
build_selftest() {
    local program=$CRIU_HOME/criu-selftest
    [[ -x $program && $program -nt $SELFTEST_SOURCE ]] && return
    mkdir -p -- "$CRIU_HOME"
    must_step CRIU_SELFTEST_UNBUILT "install gcc and libc6-dev, then run ./crab setup again" \
        "compile the CRIU self-test" gcc -O2 -Wall -o "$program.new" "$SELFTEST_SOURCE"
    mv -f -- "$program.new" "$program"
}

# Runs in the subshell of a step: the directory is removed when the test passed, else its logs go to the setup log.
run_selftest() {
    local directory status=0 log
    directory=$(mktemp -d /tmp/crab-criu.XXXXXX)
    "$CRIU_HOME/criu-selftest" "$1" "$directory" || status=$?
    if ((status != 0)); then
        for log in "$directory"/*/*.out "$directory"/*/*.log; do
            [[ -f $log ]] || continue
            printf -- '---- %s\n' "$log"
            tail -n 20 "$log"
        done
    fi
    rm -rf --one-file-system -- "$directory"
    return "$status"
}

criu_version() {
    "$1" --version 2>/dev/null | sed -n 's/^Version: *//p'
}

# use_criu PROGRAM: records the choice; a program outside CRIU_HOME is linked to.
use_criu() {
    local real state sum
    real=$(readlink -f -- "$1")
    mkdir -p -- "$CRIU_HOME"
    if [[ $1 != "$CRIU" && (! -e $CRIU || -L $CRIU) && $(readlink -f -- "$CRIU") != "$real" ]]; then
        ln -sfn -- "$real" "$CRIU.new"
        mv -Tf -- "$CRIU.new" "$CRIU"
    fi
    sum=$(sha256sum <"$real")
    printf -v state 'path=%s\nversion=%s\nsha256=%s\nkernel=%s\n' "$1" "$(criu_version "$1")" "${sum%% *}" "$(uname -r)"
    if [[ ! -f $CRIU_HOME/criu.path || $(<"$CRIU_HOME/criu.path") != "${state%$'\n'}" ]]; then
        printf '%s' "$state" >"$CRIU_HOME/criu.path.new"
        mv -f -- "$CRIU_HOME/criu.path.new" "$CRIU_HOME/criu.path"
    fi
}

setup_criu() {
    local candidate
    # The Java side obeys this variable before anything else; falling back to another program behind the user's back
    # would test one CRIU and run another.
    if [[ -n ${CRAB_CRIU:-} ]]; then
        criu_works "$CRAB_CRIU" || {
            [[ -x $CRAB_CRIU ]] && show_log_tail
            fail CRIU_UNUSABLE "the CRIU named by CRAB_CRIU, $CRAB_CRIU, does not work here" \
                "it failed the self-test (dump and restore of a tree with TCP, pty and unix sockets); see $SETUP_LOG" \
                "unset CRAB_CRIU: setup then finds or builds one"
        }
        use_criu "$CRAB_CRIU"
        return
    fi
    if [[ -f $CRIU && ! -L $CRIU && $(cat "$CRIU_HOME/recipe" 2>/dev/null) != "$(criu_recipe)" ]]; then
        say "CRIU was built by another version of setup: it is built anew"
    else
        for candidate in "$CRIU" "$(command -v criu || :)"; do
            if [[ -n $candidate ]] && criu_works "$candidate"; then
                use_criu "$candidate"
                return
            fi
        done
    fi
    build_criu
    criu_works "$CRIU_HOME/built/criu" || {
        show_log_tail
        fail CRIU_UNUSABLE "the CRIU just built does not work on this kernel" \
            "it failed the self-test on $(uname -r); see $SETUP_LOG" \
            "put a CRIU that works here into CRAB_CRIU, or use another kernel"
    }
    rm -f -- "$CRIU"
    mv -f -- "$CRIU_HOME/built/criu" "$CRIU"
    rmdir -- "$CRIU_HOME/built"
    criu_recipe >"$CRIU_HOME/recipe"
    use_criu "$CRIU"
}

# How a build of this version comes about: one that came about otherwise may lack a change that Crab counts on.
criu_recipe() {
    { declare -f compile_criu make_criu lean_pkg_config && cat -- "${CRIU_PATCHES[@]}"; } | sha256sum | cut -d' ' -f1
}

# ---- building ---------------------------------------------------------------------------------------------------------

build_criu() {
    local work missing=() package
    for package in "${CRIU_BUILD_PACKAGES[@]}"; do
        installed "$package" || missing+=("$package")
    done
    install_packages "packages for building CRIU" "${missing[@]}"
    ensure_distribution_sources "the source package of CRIU"
    work=$(mktemp -d /var/tmp/crab-criu-build.XXXXXX)
    CLEANUP_PATHS+=("$work")
    must_step CRIU_SOURCE_UNAVAILABLE \
        "check the network and the mirror in /etc/apt, or put a working CRIU into CRAB_CRIU; then ./crab setup again" \
        "source of CRIU" fetch_criu "$work"
    say "$(<"$work/origin")"
    must_step CRIU_BUILD_FAILED "read $SETUP_LOG, or put a working CRIU into CRAB_CRIU" \
        "build CRIU" compile_criu "$work"
    rm -rf --one-file-system -- "$work"
}

installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# A private apt: its own sources, lists and cache, so that nothing of the host's configuration changes. The archive's
# keyring signs all suites of the distribution, so the one the host has verifies this one too; without a good
# signature apt refuses the lists, and a tarball that does not match the signed lists is refused as well. Only the
# expiry of the lists is not looked at: a mirror that has stood still is good enough, because what an old list could
# be misused for, serving an old release, is refused by the version below.
fetch_criu() {
    local work=$1 keyring site suite apt tarball version sum
    keyring=$(first_file /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}) || {
        echo "no debian-archive-keyring on this machine: the source package cannot be verified"
        return 1
    }
    site=$(mirror)
    mkdir -p "$work"/{state/lists/partial,cache/archives/partial,parts,source,tree} || return 1
    : >"$work/state/status"
    apt=("${APT[@]}" -q -o "Dir::Etc::SourceList=$work/sources.list" -o "Dir::Etc::SourceParts=$work/parts"
        -o "Dir::State=$work/state" -o "Dir::State::status=$work/state/status" -o "Dir::Cache=$work/cache"
        -o APT::Sandbox::User=root -o Acquire::Languages=none
        -o APT::Get::AllowUnauthenticated=false -o Acquire::AllowInsecureRepositories=false
        -o Acquire::Check-Valid-Until=false)
    cd "$work/source" || return 1
    for suite in "${CRIU_SUITES[@]}"; do
        printf 'deb-src [signed-by=%s] %s %s main\n' "$keyring" "$site" "$suite" >"$work/sources.list"
        "${apt[@]}" --error-on=any update && "${apt[@]}" source --download-only --tar-only criu && break
        rm -f -- "$work"/source/*
    done
    tarball=$(first_file "$work"/source/criu_*.orig.tar.*) || {
        echo "no suite of ${CRIU_SUITES[*]} at the host's mirror has a verified source package of criu"
        return 1
    }
    version=${tarball##*/criu_}
    version=${version%%.orig.tar.*}
    sum=$(sha256sum <"$tarball")
    sum=${sum%% *}
    if dpkg --compare-versions "$version" lt "$CRIU_PINNED_VERSION"; then
        echo "the newest packaged CRIU is $version; $CRIU_PINNED_VERSION or newer is needed"
        return 1
    fi
    if [[ $version == "$CRIU_PINNED_VERSION" && $sum != "$CRIU_PINNED_SHA256" ]]; then
        echo "criu $version has the sha256 $sum, but $CRIU_PINNED_SHA256 is the one that is known: refused"
        return 1
    fi
    tar -xf "$tarball" -C "$work/tree" --strip-components=1 --no-same-owner || return 1
    printf 'CRIU %s from the source package of %s, sha256 %s\n' "$version" "$suite" "$sum" >"$work/origin"
}

first_file() {
    local file
    for file in "$@"; do
        if [[ -f $file ]]; then
            printf '%s\n' "$file"
            return
        fi
    done
    return 1
}

# The program moves to CRIU_HOME/built first: it takes the place of the one in use only when it has passed the test.
compile_criu() {
    local change
    for change in "${CRIU_PATCHES[@]}"; do
        if patch -d "$1/tree" -p1 --dry-run <"$change"; then
            patch -d "$1/tree" -p1 <"$change" || return 1
        else
            echo "left out, since it does not fit this release: ${change##*/}"
        fi
    done
    lean_pkg_config "$1/pkg-config" || return 1
    make_criu "$1" || return 1
    # Each dump and restore starts a CRIU, and it forks for each process: what it is linked with is mapped, relocated and copied
    # every time. Linked statically it starts in 0.6 ms instead of 1.7. Only the program itself: the code that it puts into other
    # processes has been linked by then, and would not bear it.
    mv "$1/tree/criu/criu" "$1/tree/criu/criu.shared" || return 1
    make_criu "$1" LDFLAGS=-static || {
        echo "cannot be linked statically here: it stays linked with libraries"
        mv "$1/tree/criu/criu.shared" "$1/tree/criu/criu" || return 1
    }
    mkdir -p "$CRIU_HOME/built" || return 1
    install -m 0755 "$1/tree/criu/criu" "$CRIU_HOME/built/criu"
}

make_criu() {
    local work=$1
    shift
    make -C "$work/tree" -j"$(nproc)" "RUNDIR=$CRAB_RUN" "PKG_CONFIG=$work/pkg-config" NO_GNUTLS=1 "$@" criu
}

# lean_pkg_config FILE: a pkg-config that does not know what Crab has no use for (TLS between hosts, BPF maps, GPUs, SELinux
# labels, nftables), so that what CRIU can do does not depend on what else is installed.
lean_pkg_config() {
    cat >"$1" <<'SCRIPT' && chmod +x "$1"
#!/bin/sh
for word; do
    case $word in
        gnutls | libbpf | libdrm | libselinux | libnftables) exit 1 ;;
    esac
done
exec pkg-config "$@"
SCRIPT
}

# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# What every part of the launcher shares: where things are, how errors and progress look, and how the packages of the
# distribution are installed. Sourced by the launcher, never run by itself.
#
# Standard output belongs to the command's result (it may be JSON), so everything here speaks on standard error.

# A root shell opened by plain `su` has no sbin directories in its path, and runc, bpftool and mkfs.btrfs live there.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

# Without a UTF-8 locale a JVM would write names and reports in ASCII.
if [[ ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} != *[Uu][Tt][Ff]* ]]; then
    export LC_ALL=C.UTF-8
fi

CRAB_SETUP_DIR=$CRAB_ROOT/crab-runtime/src/main/setup

# Exit codes of the launcher itself. A command that ran answers with its own.
EXIT_FAILED=1      # a step failed, or a check found something missing
EXIT_USAGE=2       # the command line makes no sense
EXIT_NOT_ROOT=77   # root is needed and cannot be had

# Data of all sessions. --data wins over the environment; the launcher has put it into CRAB_DATA by now.
CRAB_DATA=${CRAB_DATA:-/var/lib/crab}
# Programs that setup built for this machine. The Java side looks for CRIU at this very place.
CRAB_LIB=${CRAB_LIB:-/usr/local/lib/crab}
# CRIU's run directory: it keeps its cache of kernel features there, and only does so on tmpfs.
CRAB_RUN=${CRAB_RUN:-/run/crab}

SETUP_LOG=$CRAB_DATA/setup.log

# ---------------------------------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------------------------------

# fail CODE WHAT WHY CURE [EXIT]: the launcher's form of a CrabException. Never returns.
fail() {
    {
        printf 'crab: %s: %s\n' "$1" "$2"
        printf '  why:  %s\n' "$3"
        printf '  cure: %s\n' "$4"
    } >&2
    exit "${5:-$EXIT_FAILED}"
}

say() {
    printf 'crab: %s\n' "$*" >&2
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# Paths to remove and process groups to end when the launcher ends, however it ends.
CLEANUP_PATHS=()
STEP_GROUP=
STEP_LOG_START=0

at_exit() {
    local status=$?
    trap - EXIT
    if [[ -n $STEP_GROUP ]]; then
        kill -TERM -- "-$STEP_GROUP" 2>/dev/null || :
    fi
    if ((${#CLEANUP_PATHS[@]})); then
        rm -rf --one-file-system -- "${CLEANUP_PATHS[@]}"
    fi
    exit "$status"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# lock VARIABLE DIRECTORY WHOM: holds DIRECTORY's lock through a descriptor whose number goes into VARIABLE. It is
# closed in every step, so that nothing a step leaves running can hold it on.
lock() {
    local descriptor
    mkdir -p -- "$2" 2>/dev/null || fail IO_FAILED "$2 cannot be made" "mkdir was refused" "make its parent writable"
    exec {descriptor}>"$2/crab.lock"
    printf -v "$1" '%d' "$descriptor"
    if ! flock -n "$descriptor"; then
        say "waiting for $3"
        flock "$descriptor"
    fi
    LOCKS+=("$descriptor")
}
LOCKS=()

unlock() {
    local descriptor=${!1} held kept=()
    exec {descriptor}>&-
    for held in "${LOCKS[@]}"; do
        [[ $held == "$descriptor" ]] || kept+=("$held")
    done
    LOCKS=("${kept[@]}")
}

# ---------------------------------------------------------------------------------------------------------------------
# Progress
# ---------------------------------------------------------------------------------------------------------------------

# step NAME COMMAND...: runs a command or function of ours in a subshell with its output in the setup log. Silent when
# it ends within two seconds; after that a terminal sees a line with the seconds counted, anything else sees a line at
# the start, one every 20 s and one at the end. Returns the command's status; the caller decides what a failure means.
#
# The command gets its own process group (set -m), so that an interrupted setup leaves no compiler or apt behind.
step() {
    local name=$1 started=$SECONDS shown='' status=0 turn=0 pid elapsed next=20 descriptor
    local marks="|/-\\"
    shift
    printf '\n==== %s: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$name" >>"$SETUP_LOG"
    STEP_LOG_START=$(stat -c %s "$SETUP_LOG")
    set -m
    (
        for descriptor in "${LOCKS[@]}"; do
            exec {descriptor}>&-
        done
        "$@"
    ) </dev/null >>"$SETUP_LOG" 2>&1 &
    pid=$!
    set +m
    STEP_GROUP=$pid
    # The first two seconds are looked at finely, so that short steps stay short.
    while kill -0 "$pid" 2>/dev/null; do
        elapsed=$((SECONDS - started))
        if ((elapsed < 2)); then
            sleep 0.05
            continue
        fi
        if [[ -t 2 ]]; then
            printf '\r\033[K%s %s (%d s)' "${marks:turn++ % 4:1}" "$name" "$elapsed" >&2
            shown=1
        elif [[ -z $shown ]]; then
            say "$name ..."
            shown=1
        elif ((elapsed >= next)); then
            say "$name ... $elapsed s"
            next=$((next + 20))
        fi
        sleep 0.2
    done
    wait "$pid" || status=$?
    STEP_GROUP=
    if [[ -n $shown ]]; then
        [[ -t 2 ]] && printf '\r\033[K' >&2
        if ((status == 0)); then
            say "$name: done in $((SECONDS - started)) s"
        else
            say "$name: FAILED after $((SECONDS - started)) s"
        fi
    fi
    return "$status"
}

# must_step CODE CURE NAME COMMAND...: a step that setup cannot go on without.
must_step() {
    local code=$1 cure=$2 name=$3
    shift 2
    step "$@" && return
    show_log_tail
    fail "$code" "$name failed" "the last lines of $SETUP_LOG are above" "$cure"
}

# The end of what the last step wrote, and only of that step.
show_log_tail() {
    tail -c "+$((STEP_LOG_START + 1))" "$SETUP_LOG" | tail -n 15 | sed -e 's/\x1b\[[0-9;]*m//g' -e 's/^/  | /' >&2
}

# Makes the data directory (0700: it holds images of processes' memory) and opens the log. Called before any step.
open_data_directory() {
    local probe
    if ! (umask 077 && mkdir -p -- "$CRAB_DATA") 2>/dev/null; then
        fail DATA_DIRECTORY_UNUSABLE "the data directory $CRAB_DATA cannot be made" \
            "mkdir was refused: a parent is read-only, full, or no directory" \
            "give another one with --data DIRECTORY or CRAB_DATA"
    fi
    probe=$CRAB_DATA/.writable.$$
    if ! (: >"$probe") 2>/dev/null || ! (printf x >"$probe") 2>/dev/null; then
        rm -f -- "$probe"
        fail DATA_DIRECTORY_UNUSABLE "the data directory $CRAB_DATA cannot be written" \
            "it is on a read-only or full file system" "free some space, or give another one with --data DIRECTORY"
    fi
    rm -f -- "$probe"
    [[ $(stat -c %a "$CRAB_DATA") == 700 ]] || chmod 0700 "$CRAB_DATA"
    if [[ -f $SETUP_LOG && $(stat -c %s "$SETUP_LOG") -gt 4000000 ]]; then
        mv -f -- "$SETUP_LOG" "$SETUP_LOG.old"
    fi
    (umask 077 && : >>"$SETUP_LOG")
}

# ---------------------------------------------------------------------------------------------------------------------
# Packages of the distribution
# ---------------------------------------------------------------------------------------------------------------------

APT=(apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)

need_apt() {
    have apt-get || fail UNSUPPORTED_DISTRIBUTION "cannot install: $*" \
        "this machine has no apt-get; setup installs through the packages of Debian and its kin" \
        "install what is named above by hand and run ./crab setup again"
}

# refresh_package_lists [force]: not when that was done within the last hour, unless forced.
refresh_package_lists() {
    if [[ ${1:-} != force && -n $(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -mmin -60 -print -quit) ]]; then
        return
    fi
    must_step PACKAGES_UNAVAILABLE "check the network and the sources under /etc/apt, then run ./crab setup again" \
        "package lists" "${APT[@]}" -q update
}

# install_packages NAME PACKAGE...: does nothing without packages.
install_packages() {
    local name=$1
    shift
    (($#)) || return 0
    need_apt "$@"
    refresh_package_lists
    say "installing $name: $*"
    must_step PACKAGES_UNAVAILABLE "check the network and the sources under /etc/apt, then run ./crab setup again" \
        "$name" apt_install "$@"
}

# A package run that was cut off, by us or by anybody, would make apt refuse every further one.
apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    if [[ -n $(ls -A /var/lib/dpkg/updates) ]]; then
        dpkg --configure -a || return 1
    fi
    "${APT[@]}" -q -y --no-install-recommends install "$@"
}

# first_available PACKAGE...: the first that the distribution has, printed; status 1 when it has none.
first_available() {
    local package
    for package in "$@"; do
        if apt-cache show --no-all-versions "$package" >/dev/null 2>&1; then
            printf '%s\n' "$package"
            return
        fi
    done
    return 1
}

# distribution_sources: "SITE RELEASE" of every archive of packages of the distribution itself that the host uses,
# whichever form its sources have (one-line or deb822): apt is asked, no file is parsed. Archives of others are told by
# the origin in their signed release file, which is why the lists have to be there (ensure_distribution_sources).
distribution_sources() {
    local id site release origin component
    id=$(. /etc/os-release && printf '%s' "${ID:-}")
    # shellcheck disable=SC2016 # apt expands these
    while IFS='|' read -r site release origin component; do
        if [[ ${origin,,} == "$id" && $component == main && $site =~ ^https?:// ]]; then
            printf '%s %s\n' "$site" "$release"
        fi
    done < <(apt-get indextargets --format '$(SITE)|$(RELEASE)|$(ORIGIN)|$(COMPONENT)' 'Created-By: Packages')
}

ensure_distribution_sources() {
    need_apt "$1"
    [[ -n $(distribution_sources) ]] || refresh_package_lists force
    [[ -n $(distribution_sources) ]] || fail PACKAGES_UNAVAILABLE "the distribution's mirror is unknown" \
        "no http source under /etc/apt carries the packages of this distribution itself, and $1 needs one" \
        "add the distribution's main archive to /etc/apt and run ./crab setup again"
}

# mirror: where the main archive of the distribution comes from. Updates and security live elsewhere on some hosts and
# carry no development suites.
mirror() {
    local site release
    while read -r site release; do
        if [[ $release != *-* ]]; then
            printf '%s\n' "$site"
            return
        fi
    done < <(distribution_sources)
    return 1
}

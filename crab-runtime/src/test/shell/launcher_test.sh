#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the launcher. Run as root, after ./crab setup; prints one "ok" or "not ok" line a test and fails when one
# did. Nothing of the machine is changed: what a test needs otherwise goes into a directory of its own through CRAB_LIB,
# CRAB_DATA and CRAB_RUN.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2317 # scripts in quotes; functions and variables that the sourced parts call and use
set -uo pipefail

ROOT=$(cd "$(dirname -- "${BASH_SOURCE[0]}")/../../../.." && pwd)
CRAB=$ROOT/crab
SETUP=$ROOT/crab-runtime/src/main/setup
SCRATCH=$(mktemp -d /tmp/crab-launcher-test.XXXXXX)
chmod 0755 "$SCRATCH"
trap 'rm -rf --one-file-system -- "$SCRATCH"' EXIT
unset CRAB_CRIU CRAB_LAUNCHED_BY_SUDO

PASSED=0 FAILED=0

# check NAME COMMAND...: the command (mostly a function below) decides; what it wrote is shown when it failed.
check() {
    local name=$1 status
    shift
    # Not as a condition: there the shell would ignore that a test is to end at its first failing command.
    (
        set -e
        "$@"
    ) >"$SCRATCH/output" 2>&1
    status=$?
    if ((status == 0)); then
        printf 'ok %s\n' "$name"
        PASSED=$((PASSED + 1))
    else
        printf 'not ok %s\n' "$name"
        sed 's/^/    /' "$SCRATCH/output"
        FAILED=$((FAILED + 1))
    fi
}

# run EXPECTED_STATUS COMMAND...: leaves the streams in OUT and ERR and ends the test when the status is another.
run() {
    local expected=$1 status=0
    shift
    "$@" </dev/null >"$SCRATCH/out" 2>"$SCRATCH/err" || status=$?
    OUT=$(<"$SCRATCH/out") ERR=$(<"$SCRATCH/err")
    [[ $status == "$expected" ]] || give_up "status $status instead of $expected"
}

give_up() {
    printf '%s\n-- out\n%s\n-- err\n%s\n' "$1" "${OUT:-}" "${ERR:-}"
    exit 1
}

holds() {
    [[ $1 == *"$2"* ]] || give_up "missing: $2"
}

# As a user without rights; the launcher must be readable to him, which a checkout below /root is not.
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent "$@"
}

# ---- the command line ------------------------------------------------------------------------------------------------

help_lists_every_command() {
    local command
    run 0 "$CRAB" --help
    for command in setup quickstart test doctor bench prove sessions show timeline rollback branch diff label verify stop delete gc; do
        [[ $OUT =~ (^|$'\n')"  $command " ]] || give_up "not listed: $command"
    done
    [[ -z $ERR ]] || give_up "something on standard error"
}

version_is_that_of_the_build() {
    run 0 "$CRAB" --version
    [[ $OUT =~ ^crab\ [0-9]+\.[0-9]+\.[0-9]+(-SNAPSHOT)?$ ]] || give_up "no version: $OUT"
}

help_of_a_command() {
    local command
    for command in setup test doctor; do
        run 0 "$CRAB" "$command" --help
        holds "$OUT" "Usage: ./crab $command"
    done
}

help_needs_no_root() {
    run 0 as_nobody "$LAUNCHER" --help
    holds "$OUT" "Usage: ./crab COMMAND"
    run 0 as_nobody "$LAUNCHER" setup --help
    holds "$OUT" "Usage: ./crab setup"
}

unknown_command_is_refused_with_the_list() {
    run 2 "$CRAB" frobnicate
    holds "$ERR" "unknown command: frobnicate"
    holds "$ERR" "quickstart "
    [[ -z $OUT ]] || give_up "the list of an error belongs on standard error"
}

no_command_is_refused_with_the_list() {
    run 2 "$CRAB"
    holds "$ERR" "quickstart "
}

data_without_a_directory_is_refused() {
    run 2 "$CRAB" setup --data
    holds "$ERR" "--data needs a directory"
    run 2 "$CRAB" setup --data=
    holds "$ERR" "--data needs a directory"
}

bench_without_a_name_is_refused() {
    run 2 "$CRAB" bench
    holds "$ERR" "bench needs a name"
    run 2 "$CRAB" prove --json
    holds "$ERR" "prove needs a name"
    run 2 "$CRAB" prove nonsense
    holds "$ERR" "nothing to prove is named nonsense"
}

setup_refuses_arguments() {
    run 2 "$CRAB" setup everything
    holds "$ERR" "setup takes no argument: everything"
}

launcher_works_through_a_link_and_from_another_directory() {
    ln -s "$CRAB" "$SCRATCH/linked"
    cd /
    run 0 "$SCRATCH/linked" --help
    holds "$OUT" "Usage: ./crab COMMAND"
}

# ---- privileges ------------------------------------------------------------------------------------------------------

user_without_sudo_is_told_what_why_and_cure() {
    # A path with everything the launcher calls before it asks for root, and no sudo.
    local program
    mkdir -p "$SCRATCH/nosudo"
    for program in bash dirname readlink realpath env id uname; do
        ln -sfn "$(command -v "$program")" "$SCRATCH/nosudo/$program"
    done
    run 77 as_nobody env "PATH=$SCRATCH/nosudo" "$LAUNCHER" setup
    holds "$ERR" "crab: NOT_ROOT: ./crab setup needs root"
    holds "$ERR" "  why: "
    holds "$ERR" "  cure: "
}

user_with_sudo_goes_through_it_once_with_the_named_environment() {
    fake_sudo
    run 0 as_nobody env "PATH=$SCRATCH/sudo:$PATH" OPENAI_API_KEY=secret CRAB_DATA="$SCRATCH/data" "$LAUNCHER" sessions --json
    holds "$OUT" "--preserve-env="
    holds "$OUT" "OPENAI_API_KEY"
    holds "$OUT" "CRAB_DATA"
    holds "$OUT" "$LAUNCHER sessions --json"
    [[ $OUT != *secret* ]] || give_up "the key's value is on the command line"
}

user_whom_sudo_does_not_make_root_does_not_loop() {
    fake_sudo
    run 77 as_nobody env "PATH=$SCRATCH/sudo:$PATH" CRAB_LAUNCHED_BY_SUDO=1 "$LAUNCHER" setup
    holds "$ERR" "NOT_ROOT"
}

# Answers `sudo -n true` and prints how it was called otherwise.
fake_sudo() {
    mkdir -p "$SCRATCH/sudo"
    cat >"$SCRATCH/sudo/sudo" <<'SUDO'
#!/bin/sh
[ "$1" = -n ] && exit 0
echo "$@"
SUDO
    chmod 0755 "$SCRATCH/sudo" "$SCRATCH/sudo/sudo"
}

# ---- setup -------------------------------------------------------------------------------------------------------------

setup_with_nothing_to_do_is_quick_and_quiet() {
    local before
    before=$(stat -c %s "${CRAB_DATA:-/var/lib/crab}/setup.log")
    run 0 "$CRAB" setup
    (($(wc -l <<<"$ERR") <= 1)) || give_up "more than one line"
    holds "$ERR" "crab: ready: "
    [[ $(stat -c %s "${CRAB_DATA:-/var/lib/crab}/setup.log") == "$before" ]] || give_up "a step was run"
}

setup_refuses_a_data_directory_that_is_a_file() {
    : >"$SCRATCH/file"
    run 1 "$CRAB" setup --data "$SCRATCH/file"
    holds "$ERR" "DATA_DIRECTORY_UNUSABLE"
    holds "$ERR" "  cure: "
}

setup_refuses_a_read_only_data_directory() {
    mkdir "$SCRATCH/readonly"
    run 1 unshare --mount bash -c 'mount -t tmpfs -o ro none "$1" && exec "$2" setup --data "$1"' - "$SCRATCH/readonly" "$CRAB"
    holds "$ERR" "DATA_DIRECTORY_UNUSABLE"
}

setup_refuses_a_full_data_directory() {
    mkdir "$SCRATCH/full"
    run 1 unshare --mount bash -c '
        mount -t tmpfs -o size=4k none "$1" && head -c 4096 /dev/zero >"$1/filler" && exec "$2" setup --data "$1"' \
        - "$SCRATCH/full" "$CRAB"
    holds "$ERR" "DATA_DIRECTORY_UNUSABLE"
}

setup_makes_the_data_directory_private() {
    (
        # Up to the log and no further: a whole setup would build another image.
        load_launcher "$SCRATCH/private"
        open_data_directory
    )
    [[ $(stat -c %a "$SCRATCH/private") == 700 ]] || give_up "mode $(stat -c %a "$SCRATCH/private")"
    [[ $(stat -c %a "$SCRATCH/private/setup.log") == 600 ]] || give_up "mode of the log"
}

# In a mount namespace, so that the host's own stays as it is.
dumps_have_a_tmpfs_of_their_own_and_setup_mounts_it_once() {
    local above=$SCRATCH/run-above

    mkdir "$above"
    export -f load_launcher
    # shellcheck disable=SC2016 # meant for the shell within
    ROOT=$ROOT SETUP=$SETUP SCRATCH=$SCRATCH CRAB_RUN=$above/crab unshare --mount bash -euc '
        load_launcher "$SCRATCH/run-data"
        setup_run_directory
        : >"$CRAB_RUN/dumps/one"
        setup_run_directory
        stat -f -c %T "$CRAB_RUN" "$CRAB_RUN/dumps"
        stat -c %a "$CRAB_RUN" "$CRAB_RUN/dumps"
        stat -c %d "$CRAB_RUN" "$CRAB_RUN/dumps" | sort -u | wc -l
        ls "$CRAB_RUN/dumps"
        grep -c " $CRAB_RUN" /proc/mounts' >"$SCRATCH/out" 2>"$SCRATCH/err" || give_up "$(<"$SCRATCH/err")"
    [[ $(tr '\n' ' ' <"$SCRATCH/out") == "tmpfs tmpfs 700 700 2 one 2 " ]] || give_up "$(<"$SCRATCH/out")"
}

failed_step_shows_its_own_last_lines_and_the_cure() {
    step_that_fails() { seq 1 40 && echo "the reason" && return 3; }
    status=0
    (
        load_launcher "$SCRATCH/steps"
        open_data_directory
        step "a step before" echo "of another step"
        must_step SOME_CODE "the cure of it" "the step" step_that_fails
    ) 2>"$SCRATCH/err" || status=$?
    ERR=$(<"$SCRATCH/err")
    [[ $status == 1 ]] || give_up "status $status"
    holds "$ERR" "  | the reason"
    holds "$ERR" "crab: SOME_CODE: the step failed"
    holds "$ERR" "  cure: the cure of it"
    [[ $ERR != *"of another step"* ]] || give_up "lines of another step"
}

interrupted_step_leaves_no_process() {
    local pid tries=0
    cat >"$SCRATCH/interrupted" <<SCRIPT
CRAB_ROOT=$ROOT CRAB_DATA=$SCRATCH/interrupted-data
source "$SETUP/lib.sh"
open_data_directory
endless() { sleep 4242 & echo \$! >"$SCRATCH/sleeper"; wait; }
step "endless" endless
SCRIPT
    bash "$SCRATCH/interrupted" &
    pid=$!
    until [[ -s $SCRATCH/sleeper ]]; do
        ((tries++ < 200)) || give_up "the step did not start"
        read -r -t 0.05 <> <(:) || :
    done
    kill -TERM "$pid"
    wait "$pid" || :
    tries=0
    while [[ -d /proc/$(<"$SCRATCH/sleeper") ]]; do
        ((tries++ < 100)) || give_up "the step's process lives on"
        read -r -t 0.05 <> <(:) || :
    done
}

# The parts of the launcher as functions, with directories of the test's own.
load_launcher() {
    CRAB_ROOT=$ROOT
    CRAB_DATA=$1
    CRAB_LIB=$1/lib
    CRAB_RUN=${CRAB_RUN:-/run/crab}
    local part
    for part in lib criu rootfs java setup doctor test; do
        # shellcheck source=/dev/null
        source "$SETUP/$part.sh"
    done
}

# ---- CRIU ----------------------------------------------------------------------------------------------------------------

selftest_fails_on() {
    local directory status=0
    directory=$(mktemp -d "$SCRATCH/selftest.XXXX")
    "$TESTER" "$1" "$directory" 2>"$SCRATCH/err" || status=$?
    ERR=$(<"$SCRATCH/err")
    [[ $status == 1 ]] || give_up "status $status instead of 1"
}

selftest_fails_for_a_program_that_only_fails() {
    selftest_fails_on /bin/false
    holds "$ERR" "criu dump failed with status 1"
}

# A program that says success is not believed: the tree it "restored" is asked.
selftest_fails_for_a_program_that_only_succeeds() {
    selftest_fails_on /bin/true
    holds "$ERR" "after restore 1"
}

selftest_fails_when_the_restore_is_refused() {
    criu_that '[ "$1" = restore ] && exit 1'
    selftest_fails_on "$SCRATCH/criu-that"
    holds "$ERR" "criu restore failed with status 1"
}

selftest_fails_when_the_second_cycle_is_refused() {
    criu_that 'case "$*" in "dump "*/2" "*) exit 1;; esac'
    selftest_fails_on "$SCRATCH/criu-that"
    holds "$ERR" "criu dump failed with status 1"
    holds "$ERR" "/2)"
}

# An older state is a state, too: only the count of the answers tells.
selftest_fails_when_an_older_state_is_restored() {
    cat >"$SCRATCH/criu-that" <<SCRIPT
#!/bin/bash
[[ \$1 != restore ]] || set -- "\${@/%\/2//1}"
exec "$CRIU_IN_USE" "\$@"
SCRIPT
    chmod 0755 "$SCRATCH/criu-that"
    selftest_fails_on "$SCRATCH/criu-that"
    holds "$ERR" "after restore 2: the memory is not what it was"
}

# A dump that kills the tree would take the session with it.
selftest_fails_when_the_dump_does_not_leave_the_tree_running() {
    cat >"$SCRATCH/criu-that" <<SCRIPT
#!/bin/bash
for argument; do [[ \$argument == --leave-running ]] || arguments+=("\$argument"); done
exec "$CRIU_IN_USE" "\${arguments[@]}"
SCRIPT
    chmod 0755 "$SCRATCH/criu-that"
    selftest_fails_on "$SCRATCH/criu-that"
    holds "$ERR" "after dump 1"
}

# criu_that SHELL: CRIU with something of ours before it.
criu_that() {
    printf '#!/bin/sh\n%s\nexec "%s" "$@"\n' "$1" "$CRIU_IN_USE" >"$SCRATCH/criu-that"
    chmod 0755 "$SCRATCH/criu-that"
}

selftest_passes_for_the_criu_in_use() {
    local directory
    directory=$(mktemp -d "$SCRATCH/selftest.XXXX")
    "$TESTER" "$CRIU_IN_USE" "$directory"
}

selftest_leaves_no_process_and_no_mount() {
    local directory
    directory=$(mktemp -d "$SCRATCH/selftest.XXXX")
    "$TESTER" "$CRIU_IN_USE" "$directory"
    ! grep -q "$directory" /proc/self/mountinfo || give_up "a mount is left"
    # The pattern goes in by a file, or grep would find itself.
    printf '%s\n' "$directory" >"$SCRATCH/pattern"
    ! grep -q -s -F -f "$SCRATCH/pattern" /proc/[0-9]*/cmdline || give_up "a process is left"
}

# In a chroot "/" is no mount point: nothing is said of CRIU then, and none is built for it.
selftest_that_cannot_be_carried_out_says_nothing_of_criu() {
    status=0
    (
        load_launcher "$SCRATCH/impossible"
        open_data_directory
        build_selftest() { :; }
        run_selftest() { echo "no such namespace" && return 2; }
        build_criu() { echo "built one" >&2; }
        mkdir -p "$SCRATCH/path"
        cp /bin/true "$SCRATCH/path/criu"
        PATH=$SCRATCH/path:$PATH
        setup_criu
    ) 2>"$SCRATCH/err" || status=$?
    ERR=$(<"$SCRATCH/err")
    [[ $status == 1 ]] || give_up "status $status"
    holds "$ERR" "crab: CRIU_SELFTEST_IMPOSSIBLE"
    holds "$ERR" "  | no such namespace"
    [[ $ERR != *"built one"* ]] || give_up "it built one all the same"
}

setup_refuses_a_named_criu_that_does_not_work() {
    run 1 env CRAB_CRIU=/bin/false "$CRAB" setup
    holds "$ERR" "crab: CRIU_UNUSABLE: the CRIU named by CRAB_CRIU, /bin/false, does not work here"
    run 1 env CRAB_CRIU="$SCRATCH/nothing" "$CRAB" setup
    holds "$ERR" "crab: CRIU_UNUSABLE"
}

passed_selftest_is_not_repeated_for_the_same_program_and_is_for_another() {
    (
        load_launcher "$SCRATCH/stamps"
        open_data_directory
        build_selftest() { :; }
        run_selftest() { echo "$1" >>"$SCRATCH/runs"; }
        cp /bin/true "$SCRATCH/one"
        cp /bin/false "$SCRATCH/two"
        criu_works "$SCRATCH/one"
        criu_works "$SCRATCH/one"
        criu_works "$SCRATCH/two"
    )
    [[ $(<"$SCRATCH/runs") == "$SCRATCH/one"$'\n'"$SCRATCH/two" ]] || give_up "$(<"$SCRATCH/runs")"
}

criu_in_the_path_that_works_is_linked_to() {
    (
        load_launcher "$SCRATCH/linking"
        open_data_directory
        build_selftest() { :; }
        run_selftest() { :; }
        mkdir -p "$SCRATCH/path"
        criu_that :
        cp "$SCRATCH/criu-that" "$SCRATCH/path/criu"
        PATH=$SCRATCH/path:$PATH
        setup_criu
        [[ $(readlink "$CRIU") == "$SCRATCH/path/criu" ]]
        grep -q "^path=$SCRATCH/path/criu$" "$CRIU_HOME/criu.path"
    )
}

# The source of another release under the pinned one's number: what a mirror could try if it could sign.
tarball_with_another_checksum_is_refused() {
    status=0
    (
        load_launcher "$SCRATCH/pinned"
        mirror() { echo http://mirror.invalid/debian; }
        fake_apt() {
            case " $* " in
                *" source "*) echo "not CRIU" >"criu_$CRIU_PINNED_VERSION.orig.tar.gz" ;;
            esac
        }
        APT=(fake_apt)
        mkdir -p "$SCRATCH/pinned/work"
        fetch_criu "$SCRATCH/pinned/work"
    ) >"$SCRATCH/out" 2>&1 || status=$?
    OUT=$(<"$SCRATCH/out")
    [[ $status == 1 ]] || give_up "status $status"
    holds "$OUT" ": refused"
}

older_source_is_refused() {
    status=0
    (
        load_launcher "$SCRATCH/older"
        mirror() { echo http://mirror.invalid/debian; }
        fake_apt() {
            case " $* " in
                *" source "*) echo "old" >criu_3.17.1.orig.tar.gz ;;
            esac
        }
        APT=(fake_apt)
        mkdir -p "$SCRATCH/older/work"
        fetch_criu "$SCRATCH/older/work"
    ) >"$SCRATCH/out" 2>&1 || status=$?
    OUT=$(<"$SCRATCH/out")
    [[ $status == 1 ]] || give_up "status $status"
    holds "$OUT" "the newest packaged CRIU is 3.17.1"
}

# ---- image -----------------------------------------------------------------------------------------------------------------

failed_image_build_leaves_nothing() {
    status=0
    (
        load_launcher "$SCRATCH/image"
        open_data_directory
        ensure_distribution_sources() { :; }
        build_image() { mkdir -p "$1/etc" && echo "no space" && return 1; }
        setup_image
    ) 2>"$SCRATCH/err" || status=$?
    ERR=$(<"$SCRATCH/err")
    [[ $status == 1 ]] || give_up "status $status"
    holds "$ERR" "IMAGE_BUILD_FAILED"
    [[ -z $(ls -A "$SCRATCH/image/images") ]] || give_up "left: $(ls -A "$SCRATCH/image/images")"
}

only_what_starts_sandboxes_makes_an_image() {
    OUT=$(
        load_launcher "$SCRATCH/noimage"
        for step in check_platform setup_packages setup_jdk setup_maven setup_kernel setup_criu; do
            eval "$step() { :; }"
        done
        setup_image() { echo image; }
        setup_without_image
        echo then
        setup
    )
    [[ $OUT == $'then\nimage' ]] || give_up "$OUT"
}

image_without_its_stamp_is_built_anew() {
    (
        load_launcher "$SCRATCH/halfimage"
        open_data_directory
        ensure_distribution_sources() { :; }
        distribution_sources() { echo "http://mirror.invalid stable"; }
        build_image() { mkdir -p "$1/etc" && echo new >"$1/etc/issue"; }
        # shellcheck disable=SC2153 # set by rootfs.sh
        mkdir -p "$IMAGE/etc"
        echo half >"$IMAGE/etc/issue"
        setup_image
        [[ $(<"$IMAGE/etc/issue") == new && -e $IMAGE_STAMP ]]
        build_image() { return 1; }
        setup_image
    )
}

image_with_more_packages_is_another_and_is_made_once() {
    (
        load_launcher "$SCRATCH/moreimage"
        open_data_directory
        ensure_distribution_sources() { :; }
        distribution_sources() { echo "http://mirror.invalid stable"; }
        build_image() { mkdir -p "$1/etc" && echo "$2" >"$1/etc/issue"; }
        setup_image_with more "an image" gcc,make
        first=$IMAGE_MADE
        [[ $(<"$first/etc/issue") == "$IMAGE_PACKAGES,gcc,make" && -e $first.complete ]]
        setup_image_with more "an image" gcc
        [[ $IMAGE_MADE != "$first" && $(<"$IMAGE_MADE/etc/issue") == "$IMAGE_PACKAGES,gcc" ]]
        build_image() { return 1; }
        setup_image_with more "an image" gcc,make
        [[ $IMAGE_MADE == "$first" ]]
    )
}

nothing_is_proved_without_a_known_name() {
    run 2 "$CRAB" prove
    holds "$ERR" "prove needs a name"
    run 2 "$CRAB" prove program
    holds "$ERR" "nothing to prove is named program"
}

image_is_fit_for_a_sandbox() {
    local image=${CRAB_DATA:-/var/lib/crab}/images/debian
    [[ -e $image.complete ]]
    [[ -z $(find "$image" -xdev \( -type b -o -type c -o -type p -o -type s \) -print -quit) ]] || give_up "device nodes"
    chroot "$image" /usr/bin/python3 -c 'import http.server, unittest'
    chroot "$image" /bin/bash -c 'type git ps env bash' >/dev/null
    [[ $(stat -c %a "$image/tmp") == 1777 ]] || give_up "mode of /tmp"
    [[ ! -L $image/etc/resolv.conf ]] && grep -q localhost "$image/etc/hosts"
}

# ---- counting --------------------------------------------------------------------------------------------------------------

# counted FILE...: lays out a checkout with one module, whose reports the test wrote, and counts.
counted() {
    CRAB_ROOT=$SCRATCH/checkout
    status=0
    count_reports >"$SCRATCH/out" 2>"$SCRATCH/err" || status=$?
    OUT=$(<"$SCRATCH/out") ERR=$(<"$SCRATCH/err")
}

checkout_with_test() {
    load_launcher "$SCRATCH/counting"
    trap - EXIT
    rm -rf "$SCRATCH/checkout"
    mkdir -p "$SCRATCH/checkout/m/src/test/java/a" "$SCRATCH/checkout/m/target/surefire-reports"
    : >"$SCRATCH/checkout/m/src/test/java/a/OneTest.java"
}

report() {
    printf '<?xml version="1.0"?>\n<testsuite xmlns:x="y" name="%s" time="1" tests="%s" errors="%s" skipped="%s" failures="%s">\n%s\n</testsuite>\n' \
        "$@" >"$SCRATCH/checkout/m/target/surefire-reports/TEST-$1.xml"
}

passed_tests_are_counted() {
    checkout_with_test
    report a.OneTest 3 0 0 0 ''
    counted
    [[ $status == 0 && $OUT == "3 0" ]] || give_up "status $status"
}

skipped_test_fails_the_run_and_is_named() {
    checkout_with_test
    report a.OneTest 2 0 1 0 '<testcase name="needs_root"><skipped/></testcase>'
    counted
    [[ $status == 1 && $OUT == "1 1" ]] || give_up "status $status"
    holds "$ERR" "skipped: 1 of a.OneTest: needs_root"
}

failed_test_is_counted_as_failed() {
    checkout_with_test
    report a.OneTest 4 1 0 1 ''
    counted
    [[ $status == 1 && $OUT == "2 2" ]] || give_up "status $status"
}

module_without_a_report_fails_the_run() {
    checkout_with_test
    counted
    [[ $status == 1 ]] || give_up "status $status"
    holds "$ERR" "never ran: a.OneTest"
}

class_without_a_report_fails_the_run() {
    checkout_with_test
    report a.OneTest 1 0 0 0 ''
    : >"$SCRATCH/checkout/m/src/test/java/a/OtherTest.java"
    counted
    [[ $status == 1 && $OUT == "1 1" ]] || give_up "status $status"
    holds "$ERR" "never ran: a.OtherTest"
}

report_of_a_nested_class_counts_for_its_outer_one() {
    checkout_with_test
    report a.OneTest 0 0 0 0 ''
    report 'a.OneTest$Inner' 2 0 0 0 ''
    counted
    [[ $status == 0 && $OUT == "2 0" ]] || give_up "status $status"
}

class_whose_reports_hold_no_test_fails_the_run() {
    checkout_with_test
    report a.OneTest 0 0 0 0 ''
    report a.OneTestOfAnother 1 0 0 0 ''
    counted
    [[ $status == 1 ]] || give_up "status $status"
    holds "$ERR" "never ran: a.OneTest"
}

abstract_class_needs_no_report() {
    checkout_with_test
    report a.OneTest 1 0 0 0 ''
    echo 'abstract class BaseTest {}' >"$SCRATCH/checkout/m/src/test/java/a/BaseTest.java"
    counted
    [[ $status == 0 ]] || give_up "status $status"
}

# ---- building and starting -------------------------------------------------------------------------------------------------

# A checkout that looks built, with a JDK that says what it was asked to do.
built_checkout() {
    local file
    load_launcher "$SCRATCH/built-data"
    CRAB_ROOT=$SCRATCH/built
    BUILD_STAMP=$CRAB_ROOT/target/crab-build.stamp
    rm -rf "$CRAB_ROOT"
    mkdir -p "$CRAB_ROOT"/{target,.mvn,bpf,crab-runtime/src/main,crab-llm-overlap,crab-langchain4j,samples,jdk/bin}
    : >"$CRAB_ROOT/pom.xml"
    : >"$CRAB_ROOT/crab-runtime/src/main/One.java"
    for file in "${BUILT_FILES[@]}"; do
        mkdir -p "$CRAB_ROOT/${file%/*}/classes"
        echo /repository/a.jar >"$CRAB_ROOT/$file"
    done
    find "$CRAB_ROOT" -exec touch -d '2 hours ago' {} +
    touch -d '1 hour ago' "$BUILD_STAMP"
    printf '#!/bin/sh\nprintf "[%%s]" "$@"\n' >"$CRAB_ROOT/jdk/bin/java"
    chmod 0755 "$CRAB_ROOT/jdk/bin/java"
    JAVA_HOME=$CRAB_ROOT/jdk
}

build_is_current_until_a_source_changes() {
    built_checkout
    build_is_current || give_up "not current although nothing changed"
    touch "$CRAB_ROOT/crab-runtime/src/main/One.java"
    ! build_is_current || give_up "current although a file changed"
}

build_is_not_current_after_a_source_was_deleted() {
    built_checkout
    rm "$CRAB_ROOT/crab-runtime/src/main/One.java"
    ! build_is_current || give_up "current"
}

build_is_not_current_without_its_output() {
    built_checkout
    rm -r "$CRAB_ROOT/samples/bench/target/classes"
    ! build_is_current || give_up "current"
}

build_does_not_count_its_own_output_as_source() {
    built_checkout
    touch "$CRAB_ROOT/samples/bench/target/bench.classpath"
    build_is_current || give_up "not current"
}

program_gets_class_path_data_directory_and_arguments() {
    (
        built_checkout
        CRAB_DATA_GIVEN=1
        cli show 'a session' --json
    ) >"$SCRATCH/out"
    OUT=$(<"$SCRATCH/out")
    [[ $OUT == "[-Dcrab.data=$SCRATCH/built-data][-cp][$SCRATCH/built/crab-langchain4j/crab-cli/target/classes:/repository/a.jar][dev.crab.cli.CrabCli][show][a session][--json]" ]] ||
        give_up "other arguments"
}

jdk_that_is_too_old_is_not_taken() {
    built_checkout
    : >"$JAVA_HOME/bin/javac"
    chmod 0755 "$JAVA_HOME/bin/javac"
    echo 'JAVA_VERSION="11.0.2"' >"$JAVA_HOME/release"
    [[ $(jdk_version "$JAVA_HOME") == 11 ]] || give_up "version"
    find_jdk || give_up "no other JDK on this machine"
    [[ $JAVA_HOME != "$CRAB_ROOT/jdk" ]] || give_up "taken"
    built_checkout
    echo 'JAVA_VERSION="21.0.2"' >"$JAVA_HOME/release"
    : >"$JAVA_HOME/bin/javac"
    chmod 0755 "$JAVA_HOME/bin/javac"
    find_jdk
    [[ $JAVA_HOME == "$CRAB_ROOT/jdk" ]] || give_up "a newer one is not taken"
}

files_of_root_are_given_back_to_the_owner_of_the_checkout() {
    built_checkout
    chown -R nobody "$CRAB_ROOT"
    : >"$CRAB_ROOT/target/of-root"
    : >"$SCRATCH/linked-to"
    ln -s "$SCRATCH/linked-to" "$CRAB_ROOT/target/link"
    give_back
    [[ -z $(find "$CRAB_ROOT" -uid 0 -print -quit) ]] || give_up "something is still root's"
    [[ $(stat -c %U "$SCRATCH/linked-to") == root ]] || give_up "a link was followed"
}

# ---- doctor without Java ---------------------------------------------------------------------------------------------------

doctor_without_a_jdk() {
    (
        load_launcher "$SCRATCH/doctor"
        CRAB_ROOT=$SCRATCH/doctor-checkout
        BUILD_STAMP=$CRAB_ROOT/target/crab-build.stamp
        find_jdk() { return 1; }
        DOCTOR_JSON=$1
        doctor
    ) >"$SCRATCH/out" 2>&1 || status=$?
    OUT=$(<"$SCRATCH/out")
    [[ $status == 1 ]] || give_up "status $status"
}

doctor_names_a_missing_jdk_and_the_cure() {
    status=0
    doctor_without_a_jdk ''
    [[ $OUT =~ missing\ +java.*cure:\ ./crab\ setup ]] || give_up "no such line"
}

doctor_names_a_missing_jdk_in_json() {
    status=0
    doctor_without_a_jdk 1
    holds "$OUT" '{"ok":false,"checks":[{"name":"java","status":"missing"'
    [[ $OUT == *"]}" ]] || give_up "not closed"
}

# ---- run ---------------------------------------------------------------------------------------------------------------------

if ((EUID != 0)); then
    echo "not ok these tests need root"
    exit 1
fi
TESTER=$SCRATCH/criu-selftest
gcc -O2 -Wall -Wextra -Werror -o "$TESTER" "$SETUP/criu-selftest.c" || exit 1
CRIU_IN_USE=$(sed -n 's/^path=//p' /usr/local/lib/crab/criu/criu.path) || exit 1

# A copy that an ordinary user can read, wherever the checkout lies.
mkdir -p "$SCRATCH/copy/crab-runtime/src/main"
cp "$CRAB" "$SCRATCH/copy/"
cp -r "$SETUP" "$SCRATCH/copy/crab-runtime/src/main/"
chmod -R a+rX "$SCRATCH/copy"
LAUNCHER=$SCRATCH/copy/crab

for test in help_lists_every_command version_is_that_of_the_build help_of_a_command help_needs_no_root unknown_command_is_refused_with_the_list \
    no_command_is_refused_with_the_list data_without_a_directory_is_refused bench_without_a_name_is_refused \
    setup_refuses_arguments launcher_works_through_a_link_and_from_another_directory \
    user_without_sudo_is_told_what_why_and_cure user_with_sudo_goes_through_it_once_with_the_named_environment \
    user_whom_sudo_does_not_make_root_does_not_loop setup_with_nothing_to_do_is_quick_and_quiet \
    setup_refuses_a_data_directory_that_is_a_file setup_refuses_a_read_only_data_directory \
    setup_refuses_a_full_data_directory setup_makes_the_data_directory_private \
    dumps_have_a_tmpfs_of_their_own_and_setup_mounts_it_once failed_step_shows_its_own_last_lines_and_the_cure interrupted_step_leaves_no_process \
    selftest_fails_for_a_program_that_only_fails selftest_fails_for_a_program_that_only_succeeds \
    selftest_fails_when_the_restore_is_refused selftest_fails_when_the_second_cycle_is_refused \
    selftest_fails_when_an_older_state_is_restored \
    selftest_fails_when_the_dump_does_not_leave_the_tree_running selftest_passes_for_the_criu_in_use \
    selftest_leaves_no_process_and_no_mount setup_refuses_a_named_criu_that_does_not_work \
    selftest_that_cannot_be_carried_out_says_nothing_of_criu \
    passed_selftest_is_not_repeated_for_the_same_program_and_is_for_another criu_in_the_path_that_works_is_linked_to \
    tarball_with_another_checksum_is_refused older_source_is_refused failed_image_build_leaves_nothing \
    only_what_starts_sandboxes_makes_an_image image_without_its_stamp_is_built_anew image_with_more_packages_is_another_and_is_made_once \
    nothing_is_proved_without_a_known_name image_is_fit_for_a_sandbox passed_tests_are_counted \
    skipped_test_fails_the_run_and_is_named failed_test_is_counted_as_failed module_without_a_report_fails_the_run \
    class_without_a_report_fails_the_run report_of_a_nested_class_counts_for_its_outer_one \
    class_whose_reports_hold_no_test_fails_the_run abstract_class_needs_no_report \
    build_is_current_until_a_source_changes build_is_not_current_after_a_source_was_deleted \
    build_is_not_current_without_its_output build_does_not_count_its_own_output_as_source \
    program_gets_class_path_data_directory_and_arguments jdk_that_is_too_old_is_not_taken \
    files_of_root_are_given_back_to_the_owner_of_the_checkout \
    doctor_names_a_missing_jdk_and_the_cure doctor_names_a_missing_jdk_in_json; do
    check "$test" "$test"
done

printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
((FAILED == 0))

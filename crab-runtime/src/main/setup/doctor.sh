# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# `crab doctor` before there is anything in Java to run. Sourced by the launcher.
#
# The checks are the Java program's. It needs a JDK and to be built; where the tools for that are there it is built,
# and where they are not, the missing ones are reported here in the program's own form. Nothing is installed.

doctor() {
    local missing=() log
    find_jdk || missing+=(java "no JDK $JAVA_NEEDED or newer")
    if ! build_is_current; then
        have gcc || missing+=(gcc "no C compiler, so Crab cannot be built")
        have make || missing+=(make "no make, so Crab cannot be built")
        have_clang || missing+=(clang "no clang 14 or newer with its llvm-strip, so the BPF programs cannot be built")
        [[ -e /usr/include/bpf/bpf_helpers.h ]] || missing+=(libbpf-dev "no headers of libbpf")
        have bpftool || missing+=(bpftool "no bpftool, so the BPF programs cannot be built")
        if ((${#missing[@]} == 0)); then
            # Not the setup log: nothing is made outside the checkout, and its directory may be the very thing missing.
            log=$CRAB_ROOT/target/crab-build.log
            mkdir -p -- "$CRAB_ROOT/target"
            : >"$log"
            if ! (export SETUP_LOG=$log && build); then
                missing+=(build "Crab's modules do not build; the compiler's output is above")
            fi
        fi
    fi
    if ((${#missing[@]})); then
        report_missing "${missing[@]}"
        exit "$EXIT_FAILED"
    fi
    cli doctor "$@"
}

# report_missing NAME WHAT...: pairs.
report_missing() {
    local separator=
    if [[ -n ${DOCTOR_JSON:-} ]]; then
        printf '{"ok":false,"checks":['
        while (($#)); do
            printf '%s{"name":"%s","status":"missing","detail":"%s","cure":"./crab setup"}' "$separator" "$1" "$2"
            separator=,
            shift 2
        done
        printf ']}\n'
    else
        while (($#)); do
            printf 'missing  %-12s %s; cure: ./crab setup\n' "$1" "$2"
            shift 2
        done
    fi
}

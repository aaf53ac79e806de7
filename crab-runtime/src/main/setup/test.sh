# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# `crab test`: the launcher's own tests, then every module's, then a count that trusts nobody. Sourced by the launcher.
#
# Maven is content with a module whose tests were skipped or never found. Crab is not: most of its tests need root, a
# kernel that can, CRIU and btrfs, and a run in which those fell out proves nothing. So the reports are read, and
# whatever was skipped, left no report or never ran counts as failed.

run_tests() {
    local status=0 shell_passed=0 shell_failed=0 totals passed failed

    say "launcher tests"
    "$CRAB_ROOT/crab-runtime/src/test/shell/launcher_test.sh" 2>&1 | tee "$CRAB_DATA/launcher-test.log" || status=1
    shell_passed=$(grep -c '^ok ' "$CRAB_DATA/launcher-test.log" || :)
    shell_failed=$(grep -c '^not ok ' "$CRAB_DATA/launcher-test.log" || :)
    ((shell_passed > 0)) || status=1

    # Reports of an earlier run, or of a class that is gone, must not be counted.
    find "$CRAB_ROOT" -path '*/target/*-reports/TEST-*.xml' -delete
    begin_build
    rm -f -- "$BUILD_STAMP"
    # Two modules at a time: their tests mostly wait. One whose tests fail holds none back; the reports are counted below.
    if maven -B -ntp -T 2 --fail-at-end -Dmaven.test.failure.ignore=true verify </dev/null; then
        end_build
    else
        unlock BUILD_LOCK
        status=1
    fi
    give_back

    totals=$(count_reports) || status=1
    read -r passed failed <<<"$totals"
    passed=$((passed + shell_passed))
    failed=$((failed + shell_failed))
    if ((status != 0 && failed == 0)); then
        say "the build failed, although no test did: see above"
        failed=1
    fi
    printf '%d passed, %d failed\n' "$passed" "$failed"
    return "$status"
}

# Prints "PASSED FAILED" and names on standard error what was skipped or never ran; status 1 when anything failed.
count_reports() {
    local passed=0 failed=0 module report class reports tests errors failures skipped name
    local -A tests_of
    while read -r module; do
        tests_of=()
        reports=$(find "$module/target" -path '*-reports/TEST-*.xml' 2>/dev/null)
        while read -r report; do
            [[ -n $report ]] || continue
            read -r tests errors failures skipped name < <(suite_counts "$report")
            passed=$((passed + tests - errors - failures - skipped))
            failed=$((failed + errors + failures + skipped))
            if ((skipped > 0)); then
                say "skipped: $skipped of $name: $(skipped_cases "$report")"
            fi
            # A nested class reports by itself; what counts is that its outer class's file ran.
            name=${report##*/TEST-}
            name=${name%.xml}
            name=${name%%\$*}
            tests_of[$name]=$((${tests_of[$name]:-0} + tests))
        done <<<"$reports"
        while read -r class; do
            [[ -n $class ]] || continue
            name=${class#"$module/src/test/java/"}
            name=${name%.java}
            name=${name//\//.}
            if ((${tests_of[$name]:-0} == 0)) && ! grep -q "abstract class ${name##*.}\>" "$class"; then
                say "never ran: $name"
                failed=$((failed + 1))
            fi
        done < <(find "$module/src/test/java" -name '*Test.java' -o -name '*Tests.java' -o -name '*IT.java')
    done < <(find "$CRAB_ROOT" -name target -prune -o -path '*/src/test/java' -print | sed 's,/src/test/java$,,' | sort)
    printf '%d %d\n' "$passed" "$failed"
    ((failed == 0))
}

# The attributes of the report's root element: "tests errors failures skipped name".
suite_counts() {
    local head attribute value counts=()
    head=$(tr '\n' ' ' <"$1" | grep -o '<testsuite [^>]*' | sed -n 1p)
    for attribute in tests errors failures skipped name; do
        value=$(sed -n "s/.* $attribute=\"\([^\"]*\)\".*/\1/p" <<<"$head")
        counts+=("${value:-unknown}")
    done
    echo "${counts[@]}"
}

skipped_cases() {
    awk '/<testcase /{line=$0} /<skipped/{sub(/.* name="/, "", line); sub(/".*/, "", line); printf "%s ", line}' "$1"
}

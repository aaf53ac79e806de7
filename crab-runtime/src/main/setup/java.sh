# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The JDK, Maven, building the modules when their sources are newer, and starting their main classes. Sourced by the
# launcher.

JAVA_NEEDED=17
BUILD_STAMP=$CRAB_ROOT/target/crab-build.stamp
# Where the build notes that the wrapper could not get Maven and the distribution's is used.
MAVEN_CHOICE=$CRAB_LIB/maven

# jdk_version HOME: the feature release of a JDK (not a mere runtime), from its release file: no JVM is started.
jdk_version() {
    local version
    [[ -x $1/bin/java && -x $1/bin/javac && -r $1/release ]] || return 1
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release")
    [[ -n $version ]] && printf '%s\n' "$version"
}

# Sets JAVA_HOME to a JDK that is new enough: the one given, that of the path, any of the system's. Status 1: none.
find_jdk() {
    local home candidates=() javac
    [[ -n ${JAVA_HOME:-} ]] && candidates+=("$JAVA_HOME")
    if javac=$(command -v javac); then
        javac=$(readlink -f -- "$javac")
        candidates+=("${javac%/bin/javac}")
    fi
    candidates+=(/usr/lib/jvm/*)
    for home in "${candidates[@]}"; do
        if (($(jdk_version "$home" || echo 0) >= JAVA_NEEDED)); then
            export JAVA_HOME=$home
            return
        fi
    done
    return 1
}

setup_jdk() {
    local package
    find_jdk && return
    need_apt "a JDK $JAVA_NEEDED"
    refresh_package_lists
    package=$(first_available openjdk-17-jdk-headless openjdk-21-jdk-headless openjdk-25-jdk-headless) ||
        fail JDK_MISSING "no JDK $JAVA_NEEDED or newer" "the distribution's archive has none" \
            "install one and name it in JAVA_HOME"
    install_packages "JDK" "$package"
    find_jdk || fail JDK_MISSING "no JDK $JAVA_NEEDED or newer" "$package was installed and yet none is found" \
        "install one by hand and name it in JAVA_HOME"
}

# ---- who builds ------------------------------------------------------------------------------------------------------

# A checkout that belongs to somebody else than root stays his: he runs the build when he is known to this machine, and
# what root leaves in it is given back.
checkout_owner() {
    stat -c %U "$CRAB_ROOT"
}

# as_owner COMMAND...: as the owner of the checkout, with his home (so his ~/.m2), when that is not root.
as_owner() {
    local owner home
    owner=$(checkout_owner)
    home=$(getent passwd "$owner" | cut -d: -f6)
    if ((EUID == 0)) && [[ $owner != root && -d $home && $(stat -c %U "$home") == "$owner" ]]; then
        setpriv --reuid="$owner" --regid="$(id -g "$owner")" --init-groups env "HOME=$home" "USER=$owner" \
            "LOGNAME=$owner" "$@"
    else
        "$@"
    fi
}

give_back() {
    local owner
    owner=$(stat -c %u:%g "$CRAB_ROOT")
    if ((EUID == 0)) && [[ $owner != 0:* ]]; then
        find "$CRAB_ROOT" -xdev -uid 0 -exec chown -h "$owner" {} +
    fi
}

# ---- Maven -------------------------------------------------------------------------------------------------------------

# maven ARGUMENT...: by the wrapper, unless setup found that the wrapper cannot get Maven on this machine.
maven() {
    cd "$CRAB_ROOT" || return 1
    if [[ -e $MAVEN_CHOICE ]]; then
        mvn "$@"
    else
        ./mvnw "$@"
    fi
}

# Whether the wrapper has unpacked its Maven for the user who will run the build.
wrapper_ready() {
    local distribution
    distribution=$(sed -n 's,^distributionUrl=.*/\(.*\)-bin\.[a-z.]*$,\1,p' "$CRAB_ROOT/.mvn/wrapper/maven-wrapper.properties")
    # shellcheck disable=SC2016 # the home of the one who builds
    as_owner sh -c 'for mvn in "${MAVEN_USER_HOME:-$HOME/.m2}/wrapper/dists/$1"*/*/bin/mvn; do [ -x "$mvn" ] && exit 0
        done; exit 1' - "$distribution"
}

setup_maven() {
    [[ -e $MAVEN_CHOICE ]] && have mvn && return
    wrapper_ready && return
    cd "$CRAB_ROOT" || return 1
    if step "Maven" as_owner ./mvnw -q --version; then
        return
    fi
    have mvn || install_packages "the distribution's Maven, because the wrapper cannot download one" maven
    mkdir -p -- "$CRAB_LIB"
    echo "the wrapper could not download Maven on $(date -u +%F); mvn of the path is used" >"$MAVEN_CHOICE"
}

# ---- building ----------------------------------------------------------------------------------------------------------

BUILT_FILES=(crab-langchain4j/crab-cli/target/crab-cli.classpath samples/quickstart/target/quickstart.classpath
    samples/bench/target/bench.classpath samples/truth/target/truth.classpath
    samples/programs/target/programs.classpath samples/leaks/target/leaks.classpath
    samples/store/target/store.classpath samples/replay/target/replay.classpath)

# Whether everything is built and no source has changed since. Directories count below src, so that a deleted file does.
build_is_current() {
    local file newer
    [[ -e $BUILD_STAMP ]] || return 1
    for file in "${BUILT_FILES[@]}"; do
        [[ -e $CRAB_ROOT/$file && -d $CRAB_ROOT/${file%/*}/classes ]] || return 1
    done
    newer=$(cd "$CRAB_ROOT" && find pom.xml .mvn bpf crab-runtime crab-llm-overlap crab-langchain4j samples \
        -name target -prune -o \( -type f -o -path '*/src/*' \) -newer "$BUILD_STAMP" -print -quit) || return 1
    [[ -z $newer ]]
}

# One build at a time in a checkout. The stamp bears the time at which the build began: what is edited meanwhile is
# newer than it.
begin_build() {
    lock BUILD_LOCK "$CRAB_ROOT/target" "another build in this checkout"
    : >"$BUILD_STAMP.new"
}

end_build() {
    mv -f -- "$BUILD_STAMP.new" "$BUILD_STAMP"
    unlock BUILD_LOCK
}

build() {
    build_is_current && return
    begin_build
    if build_is_current; then # by the one that was waited for
        unlock BUILD_LOCK
        return
    fi
    rm -f -- "$BUILD_STAMP"
    give_back
    if ! step "build Crab" build_modules; then
        give_back
        show_build_errors
        fail BUILD_FAILED "build Crab failed" "the compiler's words are above, the whole output is in $SETUP_LOG" \
            "mend what they name"
    fi
    end_build
    give_back
}

# Warnings fail the build, so they are part of the reason; Maven's closing advice is not.
show_build_errors() {
    tail -c "+$((STEP_LOG_START + 1))" "$SETUP_LOG" | sed 's/\x1b\[[0-9;]*m//g' |
        grep -E '\.(java|c|h):|^\[(ERROR|WARNING)\] .*\.java|^\[ERROR\] .' | grep -v -E 'Help 1|Re-run|re-run|For more|After correcting' |
        awk '!seen[$0]++ && shown++ < 20 { print "  | " $0 }' >&2 || show_log_tail
}

build_modules() {
    cd "$CRAB_ROOT" || return 1
    if [[ -e $MAVEN_CHOICE ]]; then
        as_owner mvn -B -ntp -Dcrab.fast -Dmaven.test.skip=true package
    else
        as_owner ./mvnw -B -ntp -Dcrab.fast -Dmaven.test.skip=true package
    fi
}

# ---- running -----------------------------------------------------------------------------------------------------------

# main_class MODULE NAME CLASS ARGUMENT...: replaces the launcher by a JVM.
main_class() {
    local module=$1 name=$2 class=$3 dependencies properties=()
    shift 3
    dependencies=$(<"$CRAB_ROOT/$module/target/$name.classpath")
    if [[ -n ${CRAB_DATA_GIVEN:-} ]]; then
        properties+=("-Dcrab.data=$CRAB_DATA")
    fi
    # The Java side knows the ordinary place only.
    if [[ $CRAB_LIB != /usr/local/lib/crab ]]; then
        export CRAB_CRIU=${CRAB_CRIU:-$CRIU}
    fi
    exec "$JAVA_HOME/bin/java" "${properties[@]}" \
        -cp "$CRAB_ROOT/$module/target/classes${dependencies:+:$dependencies}" "$class" "$@"
}

cli() {
    main_class crab-langchain4j/crab-cli crab-cli dev.crab.cli.CrabCli "$@"
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Becoming root, once. Sourced by the launcher.

# What crosses over to root besides what sudo keeps by itself. HOME is not among it: root's programs use root's home,
# and what belongs to the owner of the checkout is done as that user (java.sh).
KEPT_VARIABLES=(CI NO_COLOR COLUMNS JAVA_HOME MAVEN_OPTS MAVEN_ARGS MVNW_REPOURL MVNW_USERNAME MVNW_PASSWORD
    http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY)

# become_root ARGUMENT...: starts the launcher again through sudo when this is not root. The environment is named, not
# put into the command line: an API key must not show up in the process list.
become_root() {
    ((EUID != 0)) || return 0
    can_become_root || fail NOT_ROOT "./crab ${1:-} needs root" "$NO_ROOT_BECAUSE" \
        "run it as root, or install sudo and allow it to $(id -un)" "$EXIT_NOT_ROOT"
    local name names=()
    for name in "${KEPT_VARIABLES[@]}" $(compgen -e CRAB_) $(compgen -e OPENAI_); do
        [[ -z ${!name+set} ]] || names+=("$name")
    done
    export CRAB_LAUNCHED_BY_SUDO=1
    names+=(CRAB_LAUNCHED_BY_SUDO)
    local IFS=,
    exec sudo -H -p 'crab needs root for namespaces, CRIU and BPF; password of %p: ' \
        --preserve-env="${names[*]}" -- "$CRAB_ROOT/crab" "$@"
}

# Sets NO_ROOT_BECAUSE when not.
can_become_root() {
    NO_ROOT_BECAUSE=
    if [[ -n ${CRAB_LAUNCHED_BY_SUDO:-} ]]; then
        NO_ROOT_BECAUSE="sudo was asked already and did not make this root"
    elif ! have sudo; then
        NO_ROOT_BECAUSE="this is user $(id -un), and there is no sudo on this machine"
    elif [[ ! -t 0 && ! -t 2 ]] && ! sudo -n true 2>/dev/null; then
        NO_ROOT_BECAUSE="this is user $(id -un), and sudo would ask for a password without a terminal to ask at"
    fi
    [[ -z $NO_ROOT_BECAUSE ]]
}

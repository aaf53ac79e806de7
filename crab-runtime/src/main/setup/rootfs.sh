# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The Debian root file system that sandboxes use when nothing else is named, and others with more in them. Sourced by the
# launcher.
#
#     <data>/images/NAME            the tree, never changed after it is complete: it is the lower layer of sandboxes
#     <data>/images/NAME.complete   exists only beside a complete tree; says what it was made from
#
# The tree is built under another name and renamed, and the stamp is written after the rename. So a tree without the
# stamp is one that no sandbox was ever started from, and may be removed.

IMAGE=$CRAB_DATA/images/debian
# shellcheck disable=SC2034 # for the setup
IMAGE_STAMP=$IMAGE.complete

# What an agent's tools take for granted: a shell, an interpreter with a test runner and a web server, git, ps.
IMAGE_PACKAGES=python3,git,procps

setup_image() {
    make_image debian "image for sandboxes" "$IMAGE_PACKAGES"
}

# setup_image_with NAME TITLE PACKAGES: an image that has these packages, too; its directory is left in IMAGE_MADE. The name
# bears a digest of the packages, since an image never changes.
setup_image_with() {
    local packages=$IMAGE_PACKAGES,$3 name
    name=$1-$(sha256sum <<<"$packages" | cut -c 1-12)
    lock IMAGE_LOCK "$CRAB_DATA/images" "another ./crab that makes an image"
    have mmdebstrap || install_packages "what makes images" mmdebstrap
    make_image "$name" "$2" "$packages"
    unlock IMAGE_LOCK
    # shellcheck disable=SC2034 # for the launcher
    IMAGE_MADE=$CRAB_DATA/images/$name
}

# make_image NAME TITLE PACKAGES, under the lock of the setup.
make_image() {
    local image=$CRAB_DATA/images/$1 title=$2 packages=$3 work
    [[ -d $image && -e $image.complete ]] && return
    ensure_distribution_sources "the sandboxes' image"
    (umask 077 && mkdir -p -- "$CRAB_DATA/images")
    work=$(mktemp -d "$CRAB_DATA/images/.$1.XXXXXX")
    CLEANUP_PATHS+=("$work")
    must_step IMAGE_BUILD_FAILED \
        "check the network, the mirror in /etc/apt and the space below $CRAB_DATA, then run the command again" \
        "$title" build_image "$work/tree" "$packages"
    if [[ -e $image ]]; then
        rm -rf --one-file-system -- "$image"
    fi
    mv -T -- "$work/tree" "$image"
    sync -f "$image"
    printf 'sources=%s\npackages=%s\nbuilt=%s\n' "$(distribution_sources | tr '\n' ';')" "$packages" \
        "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$image.complete"
    rm -rf --one-file-system -- "$work"
}

# Runs in the subshell of a step; $1 is the directory to make, $2 the packages.
build_image() {
    local tree=$1 packages=$2 site release codename sources=()
    codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
    while read -r site release; do
        if [[ $release == "$codename" || $release == "$codename"-updates || $release == "$codename"-security ]]; then
            sources+=("deb $site $release main")
        fi
    done < <(distribution_sources)
    # A proxy that only the host's apt configuration names is handed over; the image keeps none of these settings.
    local key value proxies=()
    for key in http https; do
        value=$(apt-config dump --no-empty --format '%v' "Acquire::$key::Proxy")
        [[ -z $value ]] || proxies+=("--aptopt=Acquire::$key::Proxy \"$value\"")
    done
    # Packages with alternatives (a JDK) link their manual pages, too, and fail where there is no directory for that.
    # shellcheck disable=SC2016 # the hook's own argument
    mmdebstrap --mode=root --variant=minbase --format=directory --include="$packages" \
        --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
        "${proxies[@]}" --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
        --essential-hook='mkdir -p "$1/usr/share/man/man1"' \
        --skip=output/dev --skip=output/mknod \
        "$codename" "$tree" "${sources[@]}" || return 1
    tidy_image "$tree"
}

# What a sandbox without a network needs, and nothing that tells one build from the next or this host from another.
tidy_image() {
    local tree=$1
    # Device nodes are the runtime's to make, from a short list; an image that brings /dev/console would hand it out.
    find "$tree/dev" -mindepth 1 -delete
    rm -rf -- "$tree"/var/lib/apt/lists/* "$tree"/var/cache/apt/* "$tree"/var/cache/ldconfig/aux-cache \
        "$tree"/var/log/* "$tree"/tmp/* "$tree"/var/lib/dpkg/*-old "$tree"/etc/*- "$tree"/etc/resolv.conf \
        "$tree"/etc/machine-id "$tree"/var/lib/dbus/machine-id "$tree"/etc/apt/apt.conf.d/99mmdebstrap || return 1
    : >"$tree/etc/machine-id"
    printf 'sandbox\n' >"$tree/etc/hostname"
    printf '127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost ip6-loopback\n' >"$tree/etc/hosts"
    # Nobody listens there: a look-up of a foreign name is refused at once instead of timing out.
    printf '# No network but loopback.\nnameserver 127.0.0.1\noptions timeout:1 attempts:1\n' >"$tree/etc/resolv.conf"
    mkdir -p "$tree/root" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/run" "$tree/tmp"
    chmod 0755 "$tree"
    chmod 1777 "$tree/tmp"
}

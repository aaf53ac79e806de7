/**
 * The operating system by JNA: descriptors, mounts, cgroups, namespaces and sockets that Java has no word for.
 */
@NullMarked
package dev.crab.runtime.os;

import org.jspecify.annotations.NullMarked;

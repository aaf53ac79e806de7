package dev.crab.runtime.inspector;

import dev.crab.runtime.os.RootedTree.Node;

/**
 * What is known of one file of a layer.
 *
 * @param attributes digest of the extended attributes that count
 * @param opaque whether it is a directory that hides the image's of the same path
 * @param content digest of the content, empty unless rewrites are ignored and the file is small
 */
record LayerFile(Node node, String attributes, boolean opaque, String content) {}

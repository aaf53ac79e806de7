package dev.crab.runtime.inspector;

import dev.crab.runtime.libbpf.BpfLink;
import dev.crab.runtime.libbpf.BpfMap;
import dev.crab.runtime.libbpf.BpfObject;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The loaded programs and their maps, as the watches use them. Thread-safe.
 *
 * <p>Attached all the time are the hooks that see survivors between turns (scheduling, signals, sockets, moves out of the cgroup) and
 * those that see inodes become dirty. The one at the end of every system call slows the whole host, so it is attached while at least one
 * watch is between begin and judge. Nothing falls between: when it is attached no process of the turn exists yet, when it is detached
 * they have ended or are found in the process set, and survivors are judged by whether they ran, at any time.
 */
final class Programs implements AutoCloseable {
    static final String CALLS = "on_sys_exit";
    static final String DATA_READY = "on_data_ready";

    /** Without these the rules still hold: their events are seen by other hooks too, or are assumed. */
    private static final Set<String> OPTIONAL = Set.of(DATA_READY, "on_ext4_mark_inode_dirty");

    /** Touched objects of one sandbox; the same as MAX_OBJECTS in bpf/lib/maps.h. */
    private static final int MAX_OBJECTS = 16384;

    /** What the programs know of one sandbox. */
    record Seen(Set<KernelMark> marks, Set<KernelMark> marksSinceScan, int unknownCall) {}

    /** Inodes of touched objects. */
    record Objects(Set<Long> files, Set<Long> pipes, Set<Long> sockets, Set<Long> memoryFiles) {}

    /** The epochs in which a survivor was last scheduled and signalled; 0 for never. */
    record Survivor(long ran, long signalled) {}

    private final BpfObject object;
    private final BpfMap epochs;
    private final BpfMap sandboxes;
    private final BpfMap pidNamespaces;
    private final BpfMap survivors;
    private final BpfMap threads;
    private final BpfMap objects;
    private final List<BpfLink> links = new ArrayList<>();
    private final Set<String> withheld;
    private final Abi abi;
    private @Nullable BpfLink calls;
    private int callUsers;
    private long epoch = 1;

    /** @param withheld programs not to attach, to prove in tests that they are needed */
    Programs(Set<String> withheld) {
        this.withheld = Set.copyOf(withheld);
        this.object = BpfObject.load(BpfObject.INSPECTOR, OPTIONAL);
        try {
            abi = new Abi(object);
            epochs = object.map("epochs");
            sandboxes = object.map("sandboxes");
            pidNamespaces = object.map("pid_namespaces");
            survivors = object.map("survivors");
            threads = object.map("threads");
            objects = object.map("objects");
            BpfMap classes = object.map("call_classes");
            for (SystemCalls.Call call : SystemCalls.table().all()) {
                classes.put(
                        classes.newKey().putInt(0, call.number()),
                        classes.newValue().putInt(0, abi.callClass(call.kind())));
            }
            advance();
            for (String program : object.programs()) {
                if (!program.equals(CALLS) && !withheld.contains(program)) {
                    links.add(object.attach(program));
                }
            }
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    BpfObject object() {
        return object;
    }

    /** Whether arriving data is seen at the receiving socket; if not, it may be at any. */
    boolean seesSockets() {
        return object.has(DATA_READY);
    }

    /** Starts a new epoch for all sandboxes and returns it. See bpf/lib/stamp.h for why no event is lost. */
    synchronized long advance() {
        epoch++;
        epochs.put(epochs.newKey(), epochs.newValue().putLong(0, epoch));
        VarHandle.fullFence();
        return epoch;
    }

    /** How often since the loading a program did not see what it was there for: see {@link BpfObject#missedRuns}. */
    long missedRuns() {
        return object.missedRuns();
    }

    synchronized void attachCalls() {
        if (callUsers == 0 && !withheld.contains(CALLS)) {
            calls = object.attach(CALLS);
        }
        callUsers++;
    }

    synchronized void detachCalls() {
        if (--callUsers == 0 && calls != null) {
            calls.close();
            calls = null;
        }
    }

    /**
     * Makes the map that holds the touched objects of a cgroup, and puts it where the programs look for it. Takes some ms: the kernel
     * waits until no program can be using what was there before.
     */
    BpfMap newObjects(long cgroup) {
        BpfMap touched = object.newHashMap("crab_objects", abi.objectSize, Long.BYTES, MAX_OBJECTS);
        try {
            objects.put(id(objects, cgroup), objects.newValue().putInt(0, touched.descriptor()));
        } catch (RuntimeException e) {
            touched.close();
            throw e;
        }
        return touched;
    }

    /** Undoes {@link #newObjects}. */
    void forgetObjects(long cgroup, BpfMap touched) {
        objects.remove(id(objects, cgroup));
        touched.close();
    }

    /** Starts to follow a cgroup that has its map of objects. */
    void follow(long cgroup, int initPid, long pidNamespace, boolean ownNamespace) {
        ByteBuffer sandbox = sandboxes.newValue();
        sandbox.putInt(abi.initTgid, initPid);
        if (ownNamespace) {
            pidNamespaces.put(
                    pidNamespaces.newKey().putInt(0, (int) pidNamespace),
                    pidNamespaces.newValue().putLong(0, cgroup));
        }
        sandboxes.put(id(sandboxes, cgroup), sandbox);
    }

    void forget(long cgroup, long pidNamespace) {
        sandboxes.remove(id(sandboxes, cgroup));
        pidNamespaces.remove(pidNamespaces.newKey().putInt(0, (int) pidNamespace));
    }

    /** What was seen since the epoch {@code base}, and since {@code scan}; null if the sandbox is not followed. */
    @Nullable
    Seen seen(long cgroup, long base, long scan) {
        ByteBuffer sandbox = sandboxes.get(id(sandboxes, cgroup));
        if (sandbox == null) {
            return null;
        }
        Set<KernelMark> marks = EnumSet.noneOf(KernelMark.class);
        Set<KernelMark> sinceScan = EnumSet.noneOf(KernelMark.class);
        for (KernelMark mark : KernelMark.values()) {
            long stamp = sandbox.getLong(abi.stamp(mark));
            if (Long.compareUnsigned(stamp, base) >= 0) {
                marks.add(mark);
            }
            if (Long.compareUnsigned(stamp, scan) >= 0) {
                sinceScan.add(mark);
            }
        }
        return new Seen(marks, sinceScan, sandbox.getInt(abi.unknownCall));
    }

    /** What was touched since that epoch. */
    Objects touched(BpfMap map, long base) {
        Objects touched = new Objects(new HashSet<>(), new HashSet<>(), new HashSet<>(), new HashSet<>());
        map.forEach((key, value) -> {
            if (Long.compareUnsigned(value.getLong(0), base) >= 0) {
                long inode = key.getLong(abi.objectInode);
                int kind = key.getInt(abi.objectKind);
                if (kind == abi.file) {
                    touched.files.add(inode);
                } else if (kind == abi.pipe) {
                    touched.pipes.add(inode);
                } else if (kind == abi.socket) {
                    touched.sockets.add(inode);
                } else {
                    touched.memoryFiles.add(inode);
                }
            }
        });
        return touched;
    }

    /** Removes what was touched before that epoch. Only while nothing can touch it: the sandbox is held still. */
    static void clean(BpfMap map, long base) {
        List<ByteBuffer> old = new ArrayList<>();
        map.forEach((key, value) -> {
            if (Long.compareUnsigned(value.getLong(0), base) < 0) {
                old.add(key);
            }
        });
        old.forEach(map::remove);
    }

    void addSurvivor(int pid) {
        survivors.put(survivors.newKey().putInt(0, pid), survivors.newValue());
    }

    void removeSurvivor(int pid) {
        survivors.remove(survivors.newKey().putInt(0, pid));
    }

    /** When that survivor last ran; null if it is not followed. */
    @Nullable
    Survivor survivor(int pid) {
        ByteBuffer value = survivors.get(survivors.newKey().putInt(0, pid));
        return value == null ? null : new Survivor(value.getLong(abi.ran), value.getLong(abi.signalled));
    }

    /** Notes that a thread is held from outside, so that its first stint afterwards is no evidence (bpf/lib/run.h). */
    void park(int pid, int tid) {
        threads.put(
                threads.newKey().putInt(0, tid),
                threads.newValue().putInt(abi.threadTgid, pid).putInt(abi.threadState, abi.parked));
    }

    /** Survivors with a thread that was let go and has not come to rest since. */
    Set<Integer> resuming() {
        Set<Integer> pids = new HashSet<>();
        threads.forEach((key, value) -> {
            if (value.getInt(abi.threadState) == abi.resuming) {
                pids.add(value.getInt(abi.threadTgid));
            }
        });
        return pids;
    }

    @Override
    public synchronized void close() {
        links.forEach(BpfLink::close);
        links.clear();
        if (calls != null) {
            calls.close();
            calls = null;
        }
        object.close();
    }

    private static ByteBuffer id(BpfMap map, long cgroup) {
        return map.newKey().putLong(0, cgroup);
    }

    /** Where the programs keep what: read from the object's own BTF, so that C and Java cannot come apart. */
    private static final class Abi {
        private final Map<String, Integer> classes;
        private final Map<String, Integer> marks;
        private final int stamps;
        final int initTgid;
        final int unknownCall;
        final int ran;
        final int signalled;
        final int threadTgid;
        final int threadState;
        final int parked;
        final int resuming;
        final int objectSize;
        final int objectInode;
        final int objectKind;
        final int file;
        final int pipe;
        final int socket;

        Abi(BpfObject object) {
            classes = object.enumeration("call_class");
            marks = object.enumeration("mark");
            BpfObject.Layout sandbox = object.structure("sandbox");
            stamps = sandbox.offset("stamp");
            initTgid = sandbox.offset("init_tgid");
            unknownCall = sandbox.offset("unknown_call");
            BpfObject.Layout survivor = object.structure("survivor");
            ran = survivor.offset("ran");
            signalled = survivor.offset("signalled");
            BpfObject.Layout thread = object.structure("thread");
            threadTgid = thread.offset("tgid");
            threadState = thread.offset("state");
            parked = value(object, "thread_state", "THREAD_PARKED");
            resuming = value(object, "thread_state", "THREAD_RESUMING");
            BpfObject.Layout touched = object.structure("object");
            objectSize = touched.size();
            objectInode = touched.offset("inode");
            objectKind = touched.offset("kind");
            file = value(object, "object_kind", "OBJECT_FILE");
            pipe = value(object, "object_kind", "OBJECT_PIPE");
            socket = value(object, "object_kind", "OBJECT_SOCKET");
        }

        int callClass(SystemCalls.CallClass kind) {
            Integer value = classes.get("CLASS_" + kind.name());
            if (value == null) {
                throw new IllegalStateException("the programs do not know " + kind);
            }
            return value;
        }

        int stamp(KernelMark mark) {
            Integer index = marks.get("MARK_" + mark.name());
            if (index == null) {
                throw new IllegalStateException("the programs do not know " + mark);
            }
            return stamps + index * Long.BYTES;
        }

        private static int value(BpfObject object, String enumeration, String name) {
            Integer value = object.enumeration(enumeration).get(name);
            if (value == null) {
                throw new IllegalStateException("the programs do not know " + name);
            }
            return value;
        }
    }
}

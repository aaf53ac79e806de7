package dev.crab.samples.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Makes small random programs for the puppet: one to five operations on the few names of the {@link Scene}, so that they meet, and often an
 * operation that undoes an earlier one, so that turns net out. The same seed makes the same programs.
 */
final class Generator {
    private static final int MAX_OPERATIONS = 5;
    private static final List<String> FILES = List.of("a", "b", "c", "h", "d/a", "n", "d/n");
    private static final List<String> PATHS = List.of("a", "b", "c", "h", "d/a", "n", "d/n", "d", "e", "s", "p");
    private static final List<String> DIRECTORIES = List.of("d", "e", "e/f");
    private static final List<String> TEXTS = List.of("x", "yy", "aaaa", "0123456789");
    private static final List<String> SIGNALS = List.of("10", "12", "18", "19", "23", "9");

    private final SplittableRandom random;

    Generator(long seed) {
        this.random = new SplittableRandom(seed);
    }

    /** The next program: the arguments of one call of the puppet. */
    List<String> program() {
        int length = 1 + random.nextInt(MAX_OPERATIONS);
        List<String> program = new ArrayList<>();
        while (program.size() < length) {
            switch (random.nextInt(10)) {
                case 0, 1, 2, 3 -> program.add(file());
                case 4, 5 -> program.addAll(undone());
                case 6 -> program.add(process());
                case 7 -> program.add(channel());
                case 8 -> program.add("@" + survivor() + " " + told());
                default -> program.add(harmless());
            }
        }
        return List.copyOf(program);
    }

    private String file() {
        String file = random.nextInt(6) == 0 ? pick(Scene.IMAGE_FILES) : pick(FILES);
        String path = pick(PATHS);
        return switch (random.nextInt(30)) {
            case 0 -> "create " + file;
            case 1 -> "empty " + file;
            case 2, 3 -> "write " + file + " " + random.nextInt(40) + " " + pick(TEXTS);
            case 4 -> "append " + file + " " + pick(TEXTS);
            case 5 -> "rewrite " + file;
            case 6 -> "truncate " + file + " " + size();
            case 7 -> "ftruncate " + file + " " + size();
            case 8 -> "rename " + pick(PATHS) + " " + path;
            case 9 -> "rename2 " + pick(PATHS) + " " + path + " " + random.nextInt(5);
            case 10 -> "link " + file + " " + path;
            case 11 -> "symlink " + pick(PATHS) + " " + path;
            case 12, 13 -> "unlink " + (random.nextBoolean() ? file : path);
            case 14 -> "chmod " + path + " " + (random.nextBoolean() ? "600" : "755");
            case 15 -> "chown " + path + " " + random.nextInt(2) + " " + random.nextInt(2);
            case 16 -> "utime " + file + " 1000000000";
            case 17 -> "setxattr " + file + " user.a " + pick(TEXTS);
            case 18 -> "rmxattr " + file + " user.a";
            case 19, 20 -> "mmap " + file + " " + random.nextInt(20) + " " + pick(TEXTS);
            case 21 -> "fallocate " + file + " " + pick(List.of("0", "1", "3", "16")) + " 0 " + size();
            case 22 -> "mkdir " + pick(DIRECTORIES);
            case 23 -> "rmdir " + pick(DIRECTORIES);
            case 24 -> "copy " + pick(FILES) + " " + file;
            case 25 -> "sendfile " + pick(FILES) + " " + file;
            case 26 -> "splice " + pick(FILES) + " " + file;
            case 27 -> "clone " + pick(FILES) + " " + file;
            case 28 -> "tmpfile . " + path;
            default -> "chattr " + file + " 0x40";
        };
    }

    /** Operations that end where they began, as far as anyone can tell. */
    private List<String> undone() {
        String file = random.nextInt(6) == 0 ? pick(Scene.IMAGE_FILES) : pick(FILES);
        return switch (random.nextInt(14)) {
            case 0 -> List.of("create t", "unlink t");
            case 1 -> List.of("append t " + pick(TEXTS), "rename t t2", "unlink t2");
            case 2 -> List.of("mkdir t", "append t/x y", "unlink t/x", "rmdir t");
            case 3 -> List.of("chmod " + file + " 640", "chmod " + file + " 644");
            case 4 -> List.of("rename " + file + " t", "rename t " + file);
            case 5 -> List.of("link " + file + " t", "unlink t");
            case 6 -> List.of("setxattr " + file + " user.t 1", "rmxattr " + file + " user.t");
            case 7 -> List.of("keep " + file, "write " + file + " 2 " + pick(TEXTS), "putback " + file);
            case 8 -> List.of("keep " + file, "rewrite " + file, "putback " + file);
            case 9 -> List.of("put p x", "read p 1");
            case 10 -> List.of("rename2 a b 2", "rename2 a b 2");
            case 11 -> List.of("chattr " + file + " 0x40", "chattr " + file + " 0x40");
            case 12 -> List.of("keep " + file, "mmap " + file + " 1 " + pick(TEXTS), "putback " + file);
            default ->
                List.of("keep " + file, "append " + file + " z", "truncate " + file + " " + size(), "putback " + file);
        };
    }

    private String process() {
        String survivor = survivor();
        return switch (random.nextInt(14)) {
            case 0 -> "spawn C";
            case 1 -> "kill C 9";
            case 2 -> "kill " + survivor + " " + pick(SIGNALS.subList(0, 5));
            case 3 -> "tgkill " + survivor + " 10";
            case 4 -> "sigqueue " + survivor + " 10 5";
            case 5 -> "limit " + survivor + " " + (64 + random.nextInt(3));
            case 6 -> "nice " + survivor + " " + random.nextInt(3);
            case 7 -> "affinity " + survivor + " " + (1 + random.nextInt(3));
            case 8 -> "write-vm " + survivor + " " + pick(TEXTS);
            case 9 -> "proc " + survivor + " oom_score_adj " + random.nextInt(3);
            case 10 -> "shmget 7";
            case 11 -> "shmput 7 " + pick(TEXTS);
            case 12 -> "semop 7 1";
            default -> "semget 7";
        };
    }

    private String channel() {
        return switch (random.nextInt(11)) {
            case 0, 1 -> "put p " + pick(TEXTS);
            case 2 -> "read p 1";
            case 3 -> "send-udp 4711 " + pick(TEXTS);
            case 4 -> "send-unix u " + pick(TEXTS);
            case 5 -> "send-stream v " + pick(TEXTS);
            case 6 -> "send-tcp 4712 x";
            case 7 -> "vmsplice p " + pick(TEXTS);
            case 8 -> "splice " + pick(FILES) + " p";
            case 9 -> "send-fd u a";
            default -> "proc-mmap A fd/" + (3 + random.nextInt(6)) + " Z";
        };
    }

    /** What a survivor is told. */
    private String told() {
        return switch (random.nextInt(18)) {
            case 0 -> "mem " + random.nextInt(4096) + " " + pick(TEXTS);
            case 1 -> "say 0 " + pick(TEXTS);
            case 2 -> "say 1 " + pick(TEXTS);
            case 3 -> "hear 1 1";
            case 4 -> "hear 2 4";
            case 5, 6 -> "poke 3 " + random.nextInt(8) + " " + pick(TEXTS);
            case 7 -> "flock 0 " + pick(List.of("1", "2", "8"));
            case 8 -> "posix-lock 0 " + random.nextInt(3);
            case 9 -> "seek 0 " + random.nextInt(3);
            case 10 -> "hold 6 " + pick(FILES) + " w";
            case 11 -> "release 6";
            case 12 -> "map 7 " + pick(FILES) + " s";
            case 13 -> "unmap 7";
            case 14 -> "cwd " + pick(List.of("/", Scene.DIRECTORY, Scene.DIRECTORY + "/d"));
            case 15 -> "accept 8 4";
            case 16 -> "unblock 10";
            default -> file();
        };
    }

    private String harmless() {
        return switch (random.nextInt(6)) {
            case 0 -> "child";
            case 1 -> "read " + pick(FILES);
            case 2 -> "openrw " + pick(Scene.IMAGE_FILES);
            case 3 -> "tmpfile .";
            case 4 -> "talk";
            default -> "mmap-private " + pick(FILES) + " 0 Q";
        };
    }

    private String survivor() {
        return pick(List.of("A", "B"));
    }

    private int size() {
        return pick(List.of(0, 4, 8, 16, 32, 4096, 9000));
    }

    private <T> T pick(List<T> some) {
        return some.get(random.nextInt(some.size()));
    }
}

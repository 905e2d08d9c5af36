import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;

/** Takes the steps of ../README.md with the library that the argument names: jedis, lettuce or redisson. */
final class Main {
    /** Seconds that a program may spend, on a busy machine, between calls of one step. */
    private static final long SLACK = 5;

    private interface Step {
        void take(Library client) throws Exception;
    }

    public static void main(String[] arguments) {
        try (Library client = connect(arguments[0])) {
            step("connect", client, Main::ping);
            step("throttle", client, Main::throttle);
            step("pipeline", client, c -> compareAll(c.pipeline("pipeline", 999, 1000), 999, 1000));
            step("transaction", client, c -> compareAll(c.transaction("transaction", 2, 4), 2, 4));
            step("script", client, Main::script);
            step("reconnect", client, Main::reconnect);
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
        System.exit(0); // whatever threads a library leaves
    }

    private static Library connect(String name) throws Exception {
        switch (name) {
            case "jedis":
                return new JedisLibrary();
            case "lettuce":
                return new LettuceLibrary();
            case "redisson":
                return new RedissonLibrary();
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static void step(String name, Library client, Step step) throws Exception {
        step.take(client);
        System.out.println("ok " + name);
    }

    private static void ping(Library client) {
        if (!client.ping().equals("PONG")) {
            throw new IllegalStateException("no PONG");
        }
    }

    private static void throttle(Library client) {
        for (int i = 0; i < 4; i++) {
            compare(client.throttle("throttle", 2), 2, i);
        }
    }

    private static void script(Library client) {
        for (int i = 0; i < 4; i++) {
            compare(client.script("script", 2), 2, i);
        }
    }

    /** Goes on asking, as an application would, until the restarted server answers. */
    private static void reconnect(Library client) throws Exception {
        System.out.println("restart");
        System.in.read();
        for (int attempt = 0; ; attempt++) {
            try {
                compare(client.throttle("reconnect", 2), 2, 0);
                return;
            } catch (RuntimeException e) { // the libraries have no other ancestor in common
                if (attempt == 50) {
                    throw e;
                }
                Thread.sleep(100);
            }
        }
    }

    private static void compareAll(List<?> replies, int maxBurst, int calls) {
        if (replies.size() != calls) {
            throw new IllegalStateException(replies.size() + " replies to " + calls + " calls");
        }
        for (int i = 0; i < calls; i++) {
            compare((List<?>) replies.get(i), maxBurst, i);
        }
    }

    /** Checks the reply to a call after a number of earlier ones. The times may have run for a few seconds. */
    private static void compare(List<?> reply, int maxBurst, int earlier) {
        long limit = maxBurst + 1;
        long period = Long.parseLong(Library.PERIOD);
        List<Long> want = earlier < limit
                ? List.of(0L, limit, limit - 1 - earlier, -1L, (earlier + 1) * period)
                : List.of(1L, limit, 0L, period, limit * period);
        boolean equal = reply.size() == want.size();
        for (int i = 0; equal && i < want.size(); i++) {
            long time = want.get(i);
            equal = reply.get(i).equals(time)
                    || i >= 3 && time > 0 && reply.get(i) instanceof Long got && got < time && got >= time - SLACK;
        }
        if (!equal) {
            throw new IllegalStateException("reply " + reply + " to call " + earlier + ", want " + want);
        }
    }

    static String sha1(String text) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(text.getBytes()));
        } catch (java.security.NoSuchAlgorithmException e) {
            throw new AssertionError("every Java has SHA-1", e);
        }
    }
}

import java.util.List;

/** Asks CL.THROTTLE in the ways that applications do. */
interface Library extends AutoCloseable {
    String SCRIPT = "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])";

    /** The limit of every call: one in a minute, beyond the burst. */
    String COUNT = "1";
    String PERIOD = "60";

    String ping();

    List<?> throttle(String key, int maxBurst);

    List<?> pipeline(String key, int maxBurst, int calls) throws Exception;

    List<?> transaction(String key, int maxBurst, int calls) throws Exception;

    List<?> script(String key, int maxBurst);
}

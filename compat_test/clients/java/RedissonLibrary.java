import java.util.List;
import org.redisson.Redisson;
import org.redisson.api.BatchOptions;
import org.redisson.api.RBatch;
import org.redisson.api.RScript;
import org.redisson.api.RedissonClient;
import org.redisson.api.redisnode.RedisNodes;
import org.redisson.client.RedisNoScriptException;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.Protocol;

/** Redisson has no method for any command, so that every call is a script, as it is in the applications that use it. */
final class RedissonLibrary implements Library {
    private final RedissonClient client;

    RedissonLibrary() throws Exception {
        Config config = new Config().setUsername(Settings.USER).setPassword(Settings.PASSWORD);
        if (Settings.PROTOCOL != null) {
            config.setProtocol(Settings.PROTOCOL.equals("3") ? Protocol.RESP3 : Protocol.RESP2);
        }
        if (Settings.AUTHORITY != null) {
            config.setSslTrustManagerFactory(Settings.trust());
        }
        String scheme = Settings.AUTHORITY == null ? "redis://" : "rediss://";
        config.useSingleServer().setAddress(scheme + Settings.HOST + ":" + Settings.PORT);
        client = Redisson.create(config);
    }

    public String ping() {
        return client.getRedisNodes(RedisNodes.SINGLE).pingAll() ? "PONG" : "";
    }

    private static Object[] arguments(int maxBurst) {
        return new Object[] {"" + maxBurst, COUNT, PERIOD, "1"};
    }

    public List<?> throttle(String key, int maxBurst) {
        return client.getScript(StringCodec.INSTANCE)
                .eval(RScript.Mode.READ_WRITE, SCRIPT, RScript.ReturnType.LIST, List.of(key), arguments(maxBurst));
    }

    public List<?> pipeline(String key, int maxBurst, int calls) {
        return batch(BatchOptions.ExecutionMode.IN_MEMORY, key, maxBurst, calls);
    }

    public List<?> transaction(String key, int maxBurst, int calls) {
        return batch(BatchOptions.ExecutionMode.IN_MEMORY_ATOMIC, key, maxBurst, calls);
    }

    private List<?> batch(BatchOptions.ExecutionMode mode, String key, int maxBurst, int calls) {
        RBatch batch = client.createBatch(BatchOptions.defaults().executionMode(mode));
        for (int i = 0; i < calls; i++) {
            batch.getScript(StringCodec.INSTANCE)
                    .evalAsync(RScript.Mode.READ_WRITE, SCRIPT, RScript.ReturnType.LIST, List.of(key), arguments(maxBurst));
        }
        return batch.execute().getResponses();
    }

    public List<?> script(String key, int maxBurst) {
        RScript script = client.getScript(StringCodec.INSTANCE);
        String digest = Main.sha1(SCRIPT);
        try {
            return script.evalSha(RScript.Mode.READ_WRITE, digest, RScript.ReturnType.LIST, List.of(key), arguments(maxBurst));
        } catch (RedisNoScriptException e) {
            script.scriptLoad(SCRIPT);
            return script.evalSha(RScript.Mode.READ_WRITE, digest, RScript.ReturnType.LIST, List.of(key), arguments(maxBurst));
        }
    }

    public void close() {
        client.shutdown();
    }
}

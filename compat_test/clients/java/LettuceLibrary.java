import io.lettuce.core.ClientOptions;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SslOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

final class LettuceLibrary implements Library {
    private static final ProtocolKeyword THROTTLE = new ProtocolKeyword() {
        public byte[] getBytes() {
            return name().getBytes();
        }

        public String name() {
            return "CL.THROTTLE";
        }
    };

    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final RedisCommands<String, String> sync;

    LettuceLibrary() {
        RedisURI.Builder address = RedisURI.builder().withHost(Settings.HOST).withPort(Settings.PORT);
        if (Settings.USER != null) {
            address.withAuthentication(Settings.USER, Settings.PASSWORD);
        } else if (Settings.PASSWORD != null) {
            address.withPassword(Settings.PASSWORD.toCharArray());
        }
        ClientOptions.Builder options = ClientOptions.builder();
        if (Settings.PROTOCOL != null) {
            options.protocolVersion(Settings.PROTOCOL.equals("3") ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2);
        }
        if (Settings.AUTHORITY != null) {
            address.withSsl(true);
            options.sslOptions(SslOptions.builder().trustManager(Settings.AUTHORITY).build());
        }
        client = RedisClient.create(address.build());
        client.setOptions(options.build());
        connection = client.connect();
        sync = connection.sync();
    }

    public String ping() {
        return sync.ping();
    }

    private static CommandArgs<String, String> arguments(String key, int maxBurst) {
        return new CommandArgs<>(StringCodec.UTF8).addKey(key).add(maxBurst).add(COUNT).add(PERIOD);
    }

    public List<?> throttle(String key, int maxBurst) {
        return sync.dispatch(THROTTLE, new ArrayOutput<>(StringCodec.UTF8), arguments(key, maxBurst));
    }

    private RedisFuture<List<Object>> dispatch(String key, int maxBurst) {
        return connection.async().dispatch(THROTTLE, new ArrayOutput<>(StringCodec.UTF8), arguments(key, maxBurst));
    }

    public List<?> pipeline(String key, int maxBurst, int calls) throws Exception {
        List<RedisFuture<List<Object>>> futures = new ArrayList<>();
        connection.setAutoFlushCommands(false);
        for (int i = 0; i < calls; i++) {
            futures.add(dispatch(key, maxBurst));
        }
        connection.flushCommands();
        connection.setAutoFlushCommands(true);
        LettuceFutures.awaitAll(10, TimeUnit.SECONDS, futures.toArray(new RedisFuture[0]));
        List<Object> replies = new ArrayList<>();
        for (RedisFuture<List<Object>> future : futures) {
            replies.add(future.get());
        }
        return replies;
    }

    public List<?> transaction(String key, int maxBurst, int calls) {
        sync.multi();
        for (int i = 0; i < calls; i++) {
            dispatch(key, maxBurst);
        }
        return sync.exec().stream().toList();
    }

    public List<?> script(String key, int maxBurst) {
        String[] keys = {key};
        String[] arguments = {"" + maxBurst, COUNT, PERIOD, "1"};
        try {
            return sync.evalsha(sync.digest(SCRIPT), ScriptOutputType.MULTI, keys, arguments);
        } catch (RedisNoScriptException e) {
            return sync.eval(SCRIPT, ScriptOutputType.MULTI, keys, arguments);
        }
    }

    public void close() {
        connection.close();
        client.shutdown(0, 1, TimeUnit.SECONDS);
    }
}

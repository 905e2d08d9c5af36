import java.util.List;
import javax.net.ssl.SSLContext;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.BuilderFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.CommandObject;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisNoScriptException;

final class JedisLibrary implements Library {
    private static final ProtocolCommand THROTTLE = () -> "CL.THROTTLE".getBytes();

    private final RedisClient client;

    JedisLibrary() throws Exception {
        DefaultJedisClientConfig.Builder config =
                DefaultJedisClientConfig.builder().user(Settings.USER).password(Settings.PASSWORD);
        if (Settings.PROTOCOL != null) {
            config.protocol(Settings.PROTOCOL.equals("3") ? RedisProtocol.RESP3 : RedisProtocol.RESP2);
        }
        if (Settings.AUTHORITY != null) {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, Settings.trust().getTrustManagers(), null);
            config.ssl(true).sslSocketFactory(context.getSocketFactory());
        }
        client = RedisClient.builder().hostAndPort(Settings.HOST, Settings.PORT).clientConfig(config.build()).build();
    }

    public String ping() {
        return client.ping();
    }

    public List<?> throttle(String key, int maxBurst) {
        return client.executeCommand(call(key, maxBurst));
    }

    private static CommandObject<List<Object>> call(String key, int maxBurst) {
        return new CommandObject<>(
                new CommandArguments(THROTTLE).key(key).add(maxBurst).add(COUNT).add(PERIOD),
                BuilderFactory.RAW_OBJECT_LIST);
    }

    public List<?> pipeline(String key, int maxBurst, int calls) {
        try (Pipeline pipeline = client.pipelined()) {
            for (int i = 0; i < calls; i++) {
                pipeline.executeCommand(call(key, maxBurst));
            }
            return pipeline.syncAndReturnAll();
        }
    }

    public List<?> transaction(String key, int maxBurst, int calls) {
        try (AbstractTransaction transaction = client.multi()) {
            for (int i = 0; i < calls; i++) {
                transaction.executeCommand(call(key, maxBurst));
            }
            return transaction.exec();
        }
    }

    public List<?> script(String key, int maxBurst) {
        List<String> keys = List.of(key);
        List<String> arguments = List.of("" + maxBurst, COUNT, PERIOD, "1");
        try {
            return (List<?>) client.evalsha(Main.sha1(SCRIPT), keys, arguments);
        } catch (JedisNoScriptException e) {
            return (List<?>) client.eval(SCRIPT, keys, arguments);
        }
    }

    public void close() {
        client.close();
    }
}

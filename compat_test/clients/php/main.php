<?php

// Takes the steps of ../README.md with the library that the argument names: phpredis or predis. Debian 12's have no RESP3.

declare(strict_types=1);

const SCRIPT = "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])";
const LIMIT = [1, 60]; // count and period: one in a minute, beyond the burst
const PERIOD = LIMIT[1];
const SLACK = 5; // seconds that a program may spend, on a busy machine, between calls of one step

final class PhpRedis
{
    private Redis $client;

    public function __construct()
    {
        $this->client = new Redis();
        $this->connect();
    }

    private function connect(): void
    {
        $authority = getenv('CELLSERVER_CA');
        $this->client->connect(
            ($authority ? 'tls://' : '') . getenv('CELLSERVER_HOST'),
            (int) getenv('CELLSERVER_PORT'),
            5.0,
            null,
            0,
            0.0,
            $authority ? ['stream' => ['cafile' => $authority]] : []
        );
        $credentials = array_values(array_filter([getenv('CELLSERVER_USER'), getenv('CELLSERVER_PASSWORD')]));
        if ($credentials) {
            $this->client->auth($credentials);
        }
    }

    public function ping(): bool
    {
        return $this->client->ping();
    }

    public function throttle(string $key, int $maxBurst): array
    {
        return $this->checked($this->client->rawCommand('CL.THROTTLE', $key, $maxBurst, ...LIMIT));
    }

    private function checked(mixed $reply): array
    {
        return is_array($reply) ? $reply : throw new RedisException((string) $this->client->getLastError());
    }

    public function many(bool $atomic, string $key, int $maxBurst, int $calls): array
    {
        $queue = $this->client->multi($atomic ? Redis::MULTI : Redis::PIPELINE);
        for ($i = 0; $i < $calls; $i++) {
            $queue->rawCommand('CL.THROTTLE', $key, $maxBurst, ...LIMIT);
        }
        return $this->checked($queue->exec());
    }

    public function script(string $key, int $maxBurst): array
    {
        $arguments = [$key, $maxBurst, ...LIMIT, 1];
        $reply = $this->client->evalSha(sha1(SCRIPT), $arguments, 1);
        if ($reply === false && str_starts_with($this->client->getLastError(), 'NOSCRIPT')) {
            $this->client->clearLastError();
            $reply = $this->client->eval(SCRIPT, $arguments, 1);
        }
        return $this->checked($reply);
    }
}

final class PredisLibrary
{
    private Predis\Client $client;

    public function __construct()
    {
        require 'Predis/Autoloader.php';
        Predis\Autoloader::register();
        $authority = getenv('CELLSERVER_CA');
        $this->client = new Predis\Client(array_filter([
            'scheme' => $authority ? 'tls' : 'tcp',
            'host' => getenv('CELLSERVER_HOST'),
            'port' => (int) getenv('CELLSERVER_PORT'),
            'password' => getenv('CELLSERVER_PASSWORD'),
            'ssl' => $authority ? ['cafile' => $authority] : null,
        ]));
    }

    public function ping(): bool
    {
        return (string) $this->client->ping() === 'PONG';
    }

    private function call(string $key, int $maxBurst): Predis\Command\RawCommand
    {
        return new Predis\Command\RawCommand(['CL.THROTTLE', $key, $maxBurst, ...LIMIT]);
    }

    public function throttle(string $key, int $maxBurst): array
    {
        return $this->client->executeCommand($this->call($key, $maxBurst));
    }

    public function many(bool $atomic, string $key, int $maxBurst, int $calls): array
    {
        $queue = $atomic ? $this->client->transaction() : $this->client->pipeline();
        for ($i = 0; $i < $calls; $i++) {
            $queue->executeCommand($this->call($key, $maxBurst));
        }
        return $queue->execute();
    }

    public function script(string $key, int $maxBurst): array
    {
        $arguments = [1, $key, $maxBurst, ...LIMIT, 1];
        try {
            return $this->client->evalsha(sha1(SCRIPT), ...$arguments);
        } catch (Predis\Response\ServerException $e) {
            return $e->getErrorType() === 'NOSCRIPT' ? $this->client->eval(SCRIPT, ...$arguments) : throw $e;
        }
    }
}

/** Checks the reply to a call after a number of earlier ones. The times may have run for a few seconds. */
function compare(array $reply, int $maxBurst, int $earlier): void
{
    $limit = $maxBurst + 1;
    $want = $earlier < $limit
        ? [0, $limit, $limit - 1 - $earlier, -1, ($earlier + 1) * PERIOD]
        : [1, $limit, 0, PERIOD, $limit * PERIOD];
    $rounded = $reply;
    foreach ([3, 4] as $i) {
        $time = $reply[$i] ?? null;
        if ($want[$i] > 0 && is_int($time) && $time < $want[$i] && $time >= $want[$i] - SLACK) {
            $rounded[$i] = $want[$i];
        }
    }
    if ($rounded !== $want) {
        throw new Exception('reply ' . json_encode($reply) . " to call $earlier, want " . json_encode($want));
    }
}

function compareAll(array $replies, int $maxBurst, int $calls): void
{
    if (count($replies) !== $calls) {
        throw new Exception(count($replies) . " replies to $calls calls");
    }
    foreach ($replies as $i => $reply) {
        compare($reply, $maxBurst, $i);
    }
}

/** Goes on asking, as an application would, until the restarted server answers. */
function reconnect(PhpRedis|PredisLibrary $client): void
{
    echo "restart\n";
    fgets(STDIN);
    for ($attempt = 0; ; $attempt++) {
        try {
            compare($client->throttle('reconnect', 2), 2, 0);
            return;
        } catch (RedisException | Predis\Connection\ConnectionException $e) {
            if ($attempt === 50) {
                throw $e;
            }
            usleep(100 * 1000);
        }
    }
}

function run(string $name): void
{
    $client = match ($name) {
        'phpredis' => new PhpRedis(),
        'predis' => new PredisLibrary(),
    };
    $steps = [
        'connect' => fn () => $client->ping() ?: throw new Exception('no PONG'),
        'throttle' => fn () => array_map(fn ($i) => compare($client->throttle('throttle', 2), 2, $i), range(0, 3)),
        'pipeline' => fn () => compareAll($client->many(false, 'pipeline', 999, 1000), 999, 1000),
        'transaction' => fn () => compareAll($client->many(true, 'transaction', 2, 4), 2, 4),
        'script' => fn () => array_map(fn ($i) => compare($client->script('script', 2), 2, $i), range(0, 3)),
        'reconnect' => fn () => reconnect($client),
    ];
    foreach ($steps as $step => $take) {
        $take();
        echo "ok $step\n";
    }
}

try {
    run($argv[1]);
} catch (Throwable $e) {
    fwrite(STDERR, "$e\n");
    exit(1);
}

"""Takes the steps of ../README.md with redis-py, as its argument says: redis-py or redis-py-asyncio."""

import asyncio
import inspect
import os
import sys
import time

import redis
import redis.asyncio

SCRIPT = "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])"
LIMIT = (1, 60)  # count and period: one in a minute, beyond the burst
SLACK = 5  # seconds that a program may spend, on a busy machine, between calls of one step


def connect(name):
    options = {"host": os.environ["CELLSERVER_HOST"], "port": int(os.environ["CELLSERVER_PORT"])}
    for option, variable in ("username", "CELLSERVER_USER"), ("password", "CELLSERVER_PASSWORD"), ("ssl_ca_certs", "CELLSERVER_CA"):
        if variable in os.environ:
            options[option] = os.environ[variable]
    options["ssl"] = "ssl_ca_certs" in options
    if "CELLSERVER_RESP" in os.environ:
        options["protocol"] = int(os.environ["CELLSERVER_RESP"])
    libraries = {"redis-py": redis.Redis, "redis-py-asyncio": redis.asyncio.Redis}
    return libraries[name](**options)


async def result(value):
    """The asyncio client has the methods of the other one, and returns promises."""
    return await value if inspect.isawaitable(value) else value


async def ping(client):
    assert await result(client.ping()) is True


async def throttle(client):
    for i in range(4):
        compare(await result(client.execute_command("CL.THROTTLE", "throttle", 2, *LIMIT)), 2, i)


async def pipeline(client):
    await many(client.pipeline(transaction=False), "pipeline", 999, 1000)


async def transaction(client):
    await many(client.pipeline(), "transaction", 2, 4)


async def many(pipe, key, max_burst, calls):
    for _ in range(calls):
        pipe.execute_command("CL.THROTTLE", key, max_burst, *LIMIT)
    replies = await result(pipe.execute())
    assert len(replies) == calls, f"{len(replies)} replies to {calls} calls"
    for i, reply in enumerate(replies):
        compare(reply, max_burst, i)


async def script(client):
    idiom = client.register_script(SCRIPT)
    for i in range(4):
        compare(await result(idiom(keys=["script"], args=[2, *LIMIT, 1])), 2, i)


async def reconnect(client):
    print("restart", flush=True)
    sys.stdin.readline()
    for _ in range(50):
        try:
            reply = await result(client.execute_command("CL.THROTTLE", "reconnect", 2, *LIMIT))
            break
        except redis.ConnectionError as error:
            last = error
            time.sleep(0.1)
    else:
        raise last
    compare(reply, 2, 0)


def compare(reply, max_burst, earlier):
    """Checks the reply to a call after a number of earlier ones. The times may have run for a few seconds."""
    limit, period = max_burst + 1, LIMIT[1]
    want = [0, limit, limit - 1 - earlier, -1, (earlier + 1) * period]
    if earlier >= limit:
        want = [1, limit, 0, period, limit * period]
    times = zip(reply[3:], want[3:])
    if not (
        [type(number) for number in reply] == [int] * 5
        and reply[:3] == want[:3]
        and all(got == time or time > 0 and time - SLACK <= got < time for got, time in times)
    ):
        raise AssertionError(f"reply {reply} to call {earlier}, want {want}")


async def main(name):
    client = connect(name)
    for step in ping, throttle, pipeline, transaction, script, reconnect:
        await step(client)
        print("ok", "connect" if step is ping else step.__name__, flush=True)
    await result(client.aclose() if name == "redis-py-asyncio" else client.close())


asyncio.run(main(sys.argv[1]))

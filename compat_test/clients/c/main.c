/* Takes the steps of ../README.md with hiredis. Debian 12's has neither TLS nor RESP3. */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRIPT "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])"

/* The period of every limit in seconds: one call in a minute, beyond the burst. */
#define PERIOD 60

/* Seconds that a program may spend, on a busy machine, between calls of one step. */
#define SLACK 5

static redisContext *context;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static void ok(const char *step) {
    printf("ok %s\n", step);
    fflush(stdout);
}

/* The reply to a command, which must be of a certain type. */
static redisReply *want(int type, redisReply *reply) {
    if (reply == NULL) fail("%s", context->errstr);
    if (reply->type != type) fail("reply of type %d, not %d: %s", reply->type, type, reply->str ? reply->str : "");
    return reply;
}

static redisReply *next(int type) {
    void *reply = NULL;
    redisGetReply(context, &reply);
    return want(type, reply);
}

/* Checks the reply to a call after a number of earlier ones. The times may have run for a few seconds. */
static void compare(const redisReply *reply, long long max_burst, long long earlier) {
    long long limit = max_burst + 1;
    long long allowed[] = {0, limit, limit - 1 - earlier, -1, (earlier + 1) * PERIOD};
    long long limited[] = {1, limit, 0, PERIOD, limit * PERIOD};
    const long long *five = earlier < limit ? allowed : limited;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 5) fail("no five elements but type %d: %s", reply->type, reply->str ? reply->str : "");
    for (int i = 0; i < 5; i++) {
        const redisReply *element = reply->element[i];
        int time_ran = i >= 3 && five[i] > 0 && element->integer < five[i] && element->integer >= five[i] - SLACK;
        if (element->type != REDIS_REPLY_INTEGER || (element->integer != five[i] && !time_ran))
            fail("element %d of call %lld: %lld, want %lld", i, earlier, element->integer, five[i]);
    }
}

static void authenticate(void) {
    const char *user = getenv("CELLSERVER_USER"), *password = getenv("CELLSERVER_PASSWORD");
    if (user) freeReplyObject(want(REDIS_REPLY_STATUS, redisCommand(context, "AUTH %s %s", user, password)));
    else if (password) freeReplyObject(want(REDIS_REPLY_STATUS, redisCommand(context, "AUTH %s", password)));
}

static void connect_and_ping(void) {
    context = redisConnect(getenv("CELLSERVER_HOST"), atoi(getenv("CELLSERVER_PORT")));
    if (context == NULL || context->err) fail("%s", context ? context->errstr : "no memory");
    authenticate();
    freeReplyObject(want(REDIS_REPLY_STATUS, redisCommand(context, "PING")));
    ok("connect");
}

static void throttle(void) {
    for (int i = 0; i < 4; i++) {
        redisReply *reply = want(REDIS_REPLY_ARRAY, redisCommand(context, "CL.THROTTLE throttle 2 1 %d", PERIOD));
        compare(reply, 2, i);
        freeReplyObject(reply);
    }
    ok("throttle");
}

static void pipeline(void) {
    for (int i = 0; i < 1000; i++) redisAppendCommand(context, "CL.THROTTLE pipeline 999 1 %d", PERIOD);
    for (int i = 0; i < 1000; i++) {
        redisReply *reply = next(REDIS_REPLY_ARRAY);
        compare(reply, 999, i);
        freeReplyObject(reply);
    }
    ok("pipeline");
}

static void transaction(void) {
    redisAppendCommand(context, "MULTI");
    for (int i = 0; i < 4; i++) redisAppendCommand(context, "CL.THROTTLE transaction 2 1 %d", PERIOD);
    redisAppendCommand(context, "EXEC");
    for (int i = 0; i < 5; i++) freeReplyObject(next(REDIS_REPLY_STATUS)); /* OK and QUEUED */
    redisReply *replies = next(REDIS_REPLY_ARRAY);
    if (replies->elements != 4) fail("%zu replies to 4 calls", replies->elements);
    for (int i = 0; i < 4; i++) compare(replies->element[i], 2, i);
    freeReplyObject(replies);
    ok("transaction");
}

static void script(void) {
    redisReply *digest = want(REDIS_REPLY_STRING, redisCommand(context, "SCRIPT LOAD %s", SCRIPT));
    for (int i = 0; i < 4; i++) {
        redisReply *reply = want(REDIS_REPLY_ARRAY, redisCommand(context, "EVALSHA %s 1 script 2 1 %d 1", digest->str, PERIOD));
        compare(reply, 2, i);
        freeReplyObject(reply);
    }
    freeReplyObject(digest);
    ok("script");
}

/* Goes on asking, as an application would, until the restarted server answers. */
static void reconnect(void) {
    char line[16];
    redisReply *reply;
    puts("restart");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) fail("no line after the restart");
    for (int attempt = 0; (reply = redisCommand(context, "CL.THROTTLE reconnect 2 1 %d", PERIOD)) == NULL; attempt++) {
        if (attempt == 50) fail("%s", context->errstr);
        usleep(100 * 1000);
        if (redisReconnect(context) == REDIS_OK) authenticate();
    }
    compare(reply, 2, 0);
    freeReplyObject(reply);
    ok("reconnect");
}

int main(void) {
    connect_and_ping();
    throttle();
    pipeline();
    transaction();
    script();
    reconnect();
    redisFree(context);
    return 0;
}

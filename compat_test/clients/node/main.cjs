// Takes the steps of ../README.md with the library that the argument names: node-redis or ioredis. It is no ES module, since
// those ignore NODE_PATH.
'use strict'

const { once } = require('node:events')
const { readFileSync } = require('node:fs')
const { setTimeout: pause } = require('node:timers/promises')

const script = "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])"
const limit = ['1', '60'] // count and period: one in a minute, beyond the burst
const period = 60
const slack = 5 // seconds that a program may spend, on a busy machine, between calls of one step

const env = process.env
const tls = env.CELLSERVER_CA && { ca: readFileSync(env.CELLSERVER_CA) }
const protocol = env.CELLSERVER_RESP && Number(env.CELLSERVER_RESP)

async function nodeRedis () {
  const { createClient, defineScript } = require('redis')
  const idiom = defineScript({
    NUMBER_OF_KEYS: 1,
    SCRIPT: script,
    parseCommand (parser, key, ...rest) {
      parser.pushKey(key)
      parser.push(...rest)
    },
    transformReply: undefined
  })
  const client = await createClient({
    socket: { host: env.CELLSERVER_HOST, port: Number(env.CELLSERVER_PORT), ...(tls && { tls: true, ...tls }) },
    username: env.CELLSERVER_USER,
    password: env.CELLSERVER_PASSWORD,
    ...(protocol && { RESP: protocol }),
    scripts: { idiom }
  }).on('error', () => {}).connect()
  const call = (key, maxBurst) => ['CL.THROTTLE', key, String(maxBurst), ...limit]
  return {
    ping: () => client.ping(),
    throttle: (key, maxBurst) => client.sendCommand(call(key, maxBurst)),
    // Commands of one turn of the event loop are one pipeline.
    pipeline: (key, maxBurst, calls) => Promise.all(Array.from({ length: calls }, () => client.sendCommand(call(key, maxBurst)))),
    transaction (key, maxBurst, calls) {
      const multi = client.multi()
      for (let i = 0; i < calls; i++) multi.addCommand(call(key, maxBurst))
      return multi.exec()
    },
    script: (key, maxBurst) => client.idiom(key, String(maxBurst), ...limit, '1'),
    close: () => client.close()
  }
}

async function ioredis () {
  const { Redis } = require('ioredis')
  const client = new Redis({
    host: env.CELLSERVER_HOST,
    port: Number(env.CELLSERVER_PORT),
    username: env.CELLSERVER_USER,
    password: env.CELLSERVER_PASSWORD,
    tls,
    ...(protocol && { protocol }),
    scripts: { idiom: { lua: script, numberOfKeys: 1 } }
  }).on('error', () => {})
  const many = async (chain, key, maxBurst, calls) => {
    for (let i = 0; i < calls; i++) chain.call('CL.THROTTLE', key, maxBurst, ...limit)
    return (await chain.exec()).map(([error, reply]) => {
      if (error) throw error
      return reply
    })
  }
  return {
    ping: () => client.ping(),
    throttle: (key, maxBurst) => client.call('CL.THROTTLE', key, maxBurst, ...limit),
    pipeline: (key, maxBurst, calls) => many(client.pipeline(), key, maxBurst, calls),
    transaction: (key, maxBurst, calls) => many(client.multi(), key, maxBurst, calls),
    script: (key, maxBurst) => client.idiom(key, maxBurst, ...limit, 1),
    close: () => client.quit()
  }
}

// Checks the reply to a call after a number of earlier ones. The times may have run for a few seconds.
function compare (reply, maxBurst, earlier) {
  const total = maxBurst + 1
  const want = earlier < total
    ? [0, total, total - 1 - earlier, -1, (earlier + 1) * period]
    : [1, total, 0, period, total * period]
  const ran = (number, i) => i >= 3 && want[i] > 0 && Number.isInteger(number) && number < want[i] && number >= want[i] - slack
  const equal = Array.isArray(reply) && reply.length === want.length && reply.every((number, i) => number === want[i] || ran(number, i))
  if (!equal) throw new Error(`reply ${JSON.stringify(reply)} to call ${earlier}, want ${want}`)
}

function compareAll (replies, maxBurst, calls) {
  if (replies.length !== calls) throw new Error(`${replies.length} replies to ${calls} calls`)
  replies.forEach((reply, i) => compare(reply, maxBurst, i))
}

const steps = {
  async connect (client) {
    if (await client.ping() !== 'PONG') throw new Error('no PONG')
  },
  async throttle (client) {
    for (let i = 0; i < 4; i++) compare(await client.throttle('throttle', 2), 2, i)
  },
  async pipeline (client) {
    compareAll(await client.pipeline('pipeline', 999, 1000), 999, 1000)
  },
  async transaction (client) {
    compareAll(await client.transaction('transaction', 2, 4), 2, 4)
  },
  async script (client) {
    for (let i = 0; i < 4; i++) compare(await client.script('script', 2), 2, i)
  },
  async reconnect (client) {
    console.log('restart')
    await once(process.stdin, 'data')
    process.stdin.pause()
    for (let attempt = 0; ; attempt++) {
      try {
        return compare(await client.throttle('reconnect', 2), 2, 0)
      } catch (error) {
        if (attempt === 50) throw error
        await pause(100)
      }
    }
  }
}

async function main (name) {
  const client = await { 'node-redis': nodeRedis, ioredis }[name]()
  for (const [step, take] of Object.entries(steps)) {
    await take(client)
    console.log('ok', step)
  }
  await client.close()
}

main(process.argv[2]).catch(error => {
  console.error(error)
  process.exit(1)
})

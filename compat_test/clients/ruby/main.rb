# Takes the steps of ../README.md with redis-rb. Debian 12's has no RESP3.

require 'digest'
require 'redis'

SCRIPT = "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])".freeze
LIMIT = [1, 60].freeze # count and period: one in a minute, beyond the burst
PERIOD = LIMIT.last
SLACK = 5 # seconds that a program may spend, on a busy machine, between calls of one step

$stdout.sync = true

def connect
  authority = ENV['CELLSERVER_CA']
  options = {
    host: ENV.fetch('CELLSERVER_HOST'), port: ENV.fetch('CELLSERVER_PORT').to_i,
    username: ENV['CELLSERVER_USER'], password: ENV['CELLSERVER_PASSWORD']
  }
  options.update(ssl: true, ssl_params: { ca_file: authority }) if authority
  Redis.new(**options.compact)
end

def throttle(client)
  4.times { |i| compare(client.call('CL.THROTTLE', 'throttle', 2, *LIMIT), 2, i) }
end

def pipeline(client)
  compare_all(client.pipelined { |pipe| 1000.times { pipe.call(['CL.THROTTLE', 'pipeline', 999, *LIMIT]) } }, 999, 1000)
end

def transaction(client)
  compare_all(client.multi { |queue| 4.times { queue.call(['CL.THROTTLE', 'transaction', 2, *LIMIT]) } }, 2, 4)
end

def script(client)
  4.times { |i| compare(run_script(client, keys: ['script'], argv: [2, *LIMIT, 1]), 2, i) }
end

def run_script(client, **arguments)
  client.evalsha(Digest::SHA1.hexdigest(SCRIPT), **arguments)
rescue Redis::CommandError => e
  raise unless e.message.start_with?('NOSCRIPT')

  client.eval(SCRIPT, **arguments)
end

# Goes on asking, as an application would, until the restarted server answers.
def reconnect(client)
  puts 'restart'
  $stdin.gets
  attempts = 0
  begin
    reply = client.call('CL.THROTTLE', 'reconnect', 2, *LIMIT)
  rescue Redis::BaseConnectionError, Redis::CommandError => e
    raise if e.is_a?(Redis::CommandError) && !e.message.start_with?('LOADING')
    raise if (attempts += 1) > 50

    sleep 0.1
    retry
  end
  compare(reply, 2, 0)
end

# Checks the reply to a call after a number of earlier ones. The times may have run for a few seconds.
def compare(reply, max_burst, earlier)
  limit = max_burst + 1
  want = [0, limit, limit - 1 - earlier, -1, (earlier + 1) * PERIOD]
  want = [1, limit, 0, PERIOD, limit * PERIOD] if earlier >= limit
  equal = reply.size == 5 && reply.each_with_index.all? do |number, i|
    number.eql?(want[i]) || (i >= 3 && want[i].positive? && number.is_a?(Integer) && (want[i] - SLACK...want[i]).cover?(number))
  end
  raise "reply #{reply} to call #{earlier}, want #{want}" unless equal
end

def compare_all(replies, max_burst, calls)
  raise "#{replies.size} replies to #{calls} calls" unless replies.size == calls

  replies.each_with_index { |reply, i| compare(reply, max_burst, i) }
end

client = connect
raise 'no PONG' unless client.ping == 'PONG'

puts 'ok connect'
%i[throttle pipeline transaction script reconnect].each do |step|
  send(step, client)
  puts "ok #{step}"
end

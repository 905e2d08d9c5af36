-- GCRA in plain Redis, as a careful user writes it: the store's clock, integers only (microseconds, exact in a double until the
-- year 2255), one read, at most one write, and the key's TTL is its TAT.
--
-- KEYS[1]: the limited key. ARGV: max_burst, count, period in seconds, quantity (0 or more).
-- Reply: limited, limit, remaining, retry_after and reset_after in whole seconds, rounded up.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local limit = ARGV[1] + 1
local emission_interval = math.floor(ARGV[3] * 1000000 / ARGV[2])
local increment = emission_interval * ARGV[4]
local burst_tolerance = emission_interval * limit

local tat = math.max(tonumber(redis.call('GET', KEYS[1])) or now, now)
local wait = tat + increment - now - burst_tolerance
local limited, retry_after = 0, -1
if wait > 0 then
  limited = 1
  if increment <= burst_tolerance then
    retry_after = math.ceil(wait / 1000000)
  end
elseif increment > 0 then
  tat = tat + increment
  redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
end

local ttl = tat - now
local remaining = math.max(0, math.floor((burst_tolerance - ttl) / emission_interval))
return {limited, limit, remaining, retry_after, math.ceil(ttl / 1000000)}

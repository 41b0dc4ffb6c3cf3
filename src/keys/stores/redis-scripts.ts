import { createHash } from 'node:crypto'

/*
 * One script a verb: Redis runs a script as one atomic step, on the node that holds the key. The clock is the server's.
 * A record is a hash; its steps are fields of it, so that they live and end together.
 */
export interface Script {
  readonly sha: string
  readonly text: string
}

const FIELDS = `'state', 'fence', 'fingerprint', 'holder', 'after', 'lockedAt', 'lockUntil', 'expiresAt', 'result'`

const PRELUDE = `
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(number) return string.format('%.0f', number) end
local function held(fence)
  local r = redis.call('HMGET', key, 'state', 'fence', 'expiresAt')
  return r[1] and tonumber(r[3]) > now and r[2] == fence and r[1] or nil
end
local function expire(at)
  redis.call('HSET', key, 'expiresAt', text(at))
  redis.call('PEXPIREAT', key, text(at))
end
`

/** ARGV: fingerprint, holder, lock, ttl, onCrash. As decideAcquire, line by line. */
const ACQUIRE = `
local fingerprint, holder, lock, ttl, onCrash = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local r = redis.call('HMGET', key, ${FIELDS})
local function answer(outcome)
  local record = redis.call('HMGET', key, ${FIELDS})
  table.insert(record, 1, outcome)
  table.insert(record, 2, text(now))
  return record
end
local function take(after)
  local fence = math.max((tonumber(r[2]) or 0) + 1, now)
  if after == 'nothing' then redis.call('DEL', key) else redis.call('HDEL', key, 'result') end
  redis.call('HSET', key, 'state', 'locked', 'fence', text(fence), 'fingerprint', fingerprint, 'holder', holder,
    'after', after, 'lockedAt', text(now), 'lockUntil', text(now + lock))
  expire(now + lock + ttl)
  return answer('acquired')
end
if not r[1] or tonumber(r[8]) <= now then return take('nothing') end
if r[3] ~= fingerprint then return answer('mismatch') end
if r[1] == 'released' then return take('release') end
if r[1] ~= 'locked' then return answer(r[1]) end
if r[4] == holder then return answer('acquired') end
if tonumber(r[7]) > now then return answer('locked') end
if onCrash == 'takeover' then return take('crash') end
redis.call('HSET', key, 'state', 'unknown')
return answer('unknown')
`

/** ARGV: fence, lock, ttl. */
const EXTEND = `
if held(ARGV[1]) ~= 'locked' then return 0 end
local lockUntil = now + tonumber(ARGV[2])
redis.call('HSET', key, 'lockUntil', text(lockUntil))
expire(lockUntil + tonumber(ARGV[3]))
return 1
`

/** ARGV: fence, state, ttl, result. */
const SETTLE = `
local state = held(ARGV[1])
if state ~= 'locked' and state ~= 'unknown' then return 0 end
redis.call('HSET', key, 'state', ARGV[2])
if ARGV[2] == 'completed' then
  redis.call('HSET', key, 'result', ARGV[4])
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, 5) == 'step:' then redis.call('HDEL', key, field) end
  end
end
expire(now + tonumber(ARGV[3]))
return 1
`

const READ = `
local record = redis.call('HMGET', key, ${FIELDS})
if not record[1] or tonumber(record[8]) <= now then return {} end
return record
`

/** ARGV: fence, name, result. */
const SAVE_STEP = `
if held(ARGV[1]) ~= 'locked' then return 0 end
redis.call('HSET', key, 'step:' .. ARGV[2], ARGV[3])
return 1
`

const LOAD_STEPS = `
local steps = {}
local all = redis.call('HGETALL', key)
for at = 1, #all, 2 do
  if string.sub(all[at], 1, 5) == 'step:' then
    table.insert(steps, string.sub(all[at], 6))
    table.insert(steps, all[at + 1])
  end
end
return steps
`

function script(body: string): Script {
  const text = PRELUDE + body
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

export const scripts = {
  acquire: script(ACQUIRE),
  extend: script(EXTEND),
  settle: script(SETTLE),
  read: script(READ),
  saveStep: script(SAVE_STEP),
  loadSteps: script(LOAD_STEPS),
}

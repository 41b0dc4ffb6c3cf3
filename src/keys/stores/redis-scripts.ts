import { createHash } from 'node:crypto'

/*
 * One script a verb: Redis runs a script as one atomic step, on the node that holds the key. The clock is the server's,
 * which also sees to it that an expired record is not there.
 *
 * A record is one string, because a hash is read and written field by field: a line of fields, those that change first,
 * then the bytes of the result. KEYS: the record, and the hash of its steps, which lives as long.
 *
 *   state fence lockUntil expiresAt after lockedAt fingerprint holder ⏎ result
 */
export interface Script {
  readonly sha: string
  readonly text: string
}

const PRELUDE = `
local key, steps = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local value = redis.call('GET', key)
`

/** `rest`: everything of the line that no settlement and no heartbeat changes. */
const OPEN = `
local state, fence, lockUntil, expiresAt, rest = string.match(value or '', '^(%a+) (%d+) (%d+) (%d+) (.-\\n)')
local function write(newState, result)
  value = newState .. ' ' .. fence .. ' ' .. lockUntil .. ' ' .. expiresAt .. ' ' .. rest .. result
  redis.call('SET', key, value, 'PXAT', expiresAt)
end
`

/**
 * ARGV: fingerprint, holder, lock, ttl, onCrash. As decideAcquire, but that `standing` is left to the caller: what has
 * ended does not change any more, so that its fingerprint need not be compared here.
 */
const ACQUIRE = `
local lock, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
if not value then
  local expiresAt = now + lock + ttl
  local line = 'locked ' .. now .. ' ' .. now + lock .. ' ' .. expiresAt .. ' nothing ' .. now
  redis.call('SET', key, line .. ' ' .. ARGV[1] .. ' ' .. ARGV[2] .. '\\n', 'PXAT', expiresAt)
  redis.call('DEL', steps)
  return {'new', now}
end
local first = string.sub(value, 1, 1)
if first == 'c' or first == 'u' then return {'standing', now, value} end
${OPEN}
local fingerprint, holder = string.match(rest, '^%a+ %d+ (%S*) (%S*)\\n')
local function take(after)
  fence, lockUntil, expiresAt = math.max(fence + 1, now), now + lock, now + lock + ttl
  rest = after .. ' ' .. now .. ' ' .. ARGV[1] .. ' ' .. ARGV[2] .. '\\n'
  redis.call('PEXPIREAT', steps, expiresAt)
  write('locked', '')
  return {'acquired', now, value}
end
if fingerprint ~= ARGV[1] then return {'mismatch', now, value} end
if state == 'released' then return take('release') end
if holder == ARGV[2] then return {'acquired', now, value} end
if tonumber(lockUntil) > now then return {'locked', now, value} end
if ARGV[5] == 'takeover' then return take('crash') end
write('unknown', '')
return {'unknown', now, value}
`

/** ARGV: fence, lock, ttl. */
const EXTEND = `
${OPEN}
if state ~= 'locked' or fence ~= ARGV[1] then return 0 end
lockUntil = now + tonumber(ARGV[2])
expiresAt = lockUntil + tonumber(ARGV[3])
write('locked', '')
redis.call('PEXPIREAT', steps, expiresAt)
return 1
`

/** ARGV: fence, state, ttl, result. */
const SETTLE = `
${OPEN}
if fence ~= ARGV[1] or (state ~= 'locked' and state ~= 'unknown') then return 0 end
expiresAt = now + tonumber(ARGV[3])
write(ARGV[2], ARGV[4])
if ARGV[2] == 'completed' then redis.call('DEL', steps) else redis.call('PEXPIREAT', steps, expiresAt) end
return 1
`

const READ = `
return value
`

/** ARGV: fence, name, result. */
const SAVE_STEP = `
${OPEN}
if state ~= 'locked' or fence ~= ARGV[1] then return 0 end
redis.call('HSET', steps, ARGV[2], ARGV[3])
redis.call('PEXPIREAT', steps, expiresAt)
return 1
`

const LOAD_STEPS = `
return value and redis.call('HGETALL', steps) or {}
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

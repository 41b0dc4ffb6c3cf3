import { createHash } from 'node:crypto'

/*
 * One script per verb. Redis runs a script as one atomic step on the node that holds the key. The
 * clock is the server's, and the server removes expired records.
 *
 * A script handles one or several keys, because a call costs as much as the work for one key. KEYS
 * holds two names per key: the record, and the hash of its steps, which lives as long as the
 * record. ARGV holds the verb's arguments for each key. The reply is a list with one answer per
 * key.
 *
 * A record is one string, because a hash is read and written field by field. It is a line of
 * fields, the changing ones first, followed by the bytes of the result.
 *
 *   state fence lockUntil expiresAt after lockedAt fingerprint holder [+steps] ⏎ result
 *
 * `+steps` is present only if there are steps, so a record without steps costs nothing extra.
 */
export interface Script {
  readonly sha: string
  readonly text: string
}

export function plainScript(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/**
 * `parameters` names the arguments of one key. The body also sees the variables of the record above
 * it.
 */
function script(parameters: string, body: string): Script {
  return plainScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Formatting a number takes as long as a command, and the numbers of one call are mostly equal.
local written = {}
local function digits(number)
  local text = written[number]
  if not text then
    text = string.format('%.0f', number)
    written[number] = text
  end
  return text
end

-- The current key. state is nil if there is no record. rest holds the fields that neither a settle
-- nor a heartbeat changes, of a record without a result.
local key, steps, value, state, fence, lockUntil, expiresAt, rest
local function read()
  value = redis.call('GET', key)
  state = nil
  if not value then return end
  local at
  state, fence, lockUntil, expiresAt, at = string.match(value, '^(%a+) (%d+) (%d+) (%d+) ()')
  if not state then error(key .. ' does not hold a record') end
  -- Redis keeps a record until the end of its last millisecond.
  if tonumber(expiresAt) <= now then state = nil end
  rest = state == 'completed' and '' or string.sub(value, at)
end
local function write(newState, result)
  value = newState .. ' ' .. fence .. ' ' .. lockUntil .. ' ' .. expiresAt .. ' ' .. rest .. result
  redis.call('SET', key, value, 'PXAT', expiresAt)
end
local function hasSteps() return string.sub(rest, -8) == ' +steps\\n' end
local function answer(${parameters})
${body}
end

local width = #ARGV * 2 / #KEYS
local answers = {}
for n = 1, #KEYS / 2 do
  key, steps = KEYS[2 * n - 1], KEYS[2 * n]
  read()
  answers[n] = answer(unpack(ARGV, (n - 1) * width + 1, n * width))
end
return answers
`)
}

/**
 * Like decideAcquire, except that completed and unknown records are left to the caller: they no
 * longer change, so the caller can compare their fingerprint. For a new record only the time is
 * returned; the caller knows the rest.
 */
const ACQUIRE = `
if not state then
  expiresAt = digits(now + lock + ttl)
  local line = 'locked ' .. digits(now) .. ' ' .. digits(now + lock) .. ' ' .. expiresAt ..
    ' nothing ' .. digits(now) .. ' ' .. asked .. ' ' .. asker .. '\\n'
  redis.call('SET', key, line, 'PXAT', expiresAt)
  return now
end
if state == 'completed' or state == 'unknown' then return {now, value} end
local fingerprint, holder = string.match(rest, '^%a+ %d+ (%S*) (%S*)')
local function take(after)
  fence, lockUntil, expiresAt = digits(math.max(fence + 1, now)), digits(now + lock), digits(now + lock + ttl)
  local stepped = hasSteps()
  rest = after .. ' ' .. digits(now) .. ' ' .. asked .. ' ' .. asker .. (stepped and ' +steps\\n' or '\\n')
  if stepped then redis.call('PEXPIREAT', steps, expiresAt) end
  write('locked', '')
  return {now, value, 'acquired'}
end
if fingerprint ~= asked then return {now, value, 'mismatch'} end
if state == 'released' then return take('release') end
if holder == asker then return {now, value, 'acquired'} end
if tonumber(lockUntil) > now then return {now, value, 'locked'} end
if onCrash == 'takeover' then return take('crash') end
write('unknown', '')
return {now, value, 'unknown'}
`

const EXTEND = `
if state ~= 'locked' or fence ~= held then return 0 end
lockUntil, expiresAt = digits(now + lock), digits(now + lock + ttl)
write('locked', '')
if hasSteps() then redis.call('PEXPIREAT', steps, expiresAt) end
return 1
`

const SETTLE = `
if fence ~= held or (state ~= 'locked' and state ~= 'unknown') then return 0 end
expiresAt = digits(now + ttl)
write(to, result)
if not hasSteps() then return 1 end
if to == 'completed' then redis.call('DEL', steps) else redis.call('PEXPIREAT', steps, expiresAt) end
return 1
`

/**
 * The first step deletes old steps. They exist only if the record they belonged to was deleted by
 * hand.
 */
const SAVE_STEP = `
if state ~= 'locked' or fence ~= held then return 0 end
if not hasSteps() then
  redis.call('DEL', steps)
  rest = string.sub(rest, 1, -2) .. ' +steps\\n'
  write('locked', '')
end
redis.call('HSET', steps, name, result)
redis.call('PEXPIREAT', steps, expiresAt)
return 1
`

export const scripts = {
  acquire: script('asked, asker, lock, ttl, onCrash', ACQUIRE),
  extend: script('held, lock, ttl', EXTEND),
  settle: script('held, to, ttl, result', SETTLE),
  read: script('', 'return state and value or false'),
  saveStep: script('held, name, result', SAVE_STEP),
  loadSteps: script('', "return state and hasSteps() and redis.call('HGETALL', steps) or {}"),
}

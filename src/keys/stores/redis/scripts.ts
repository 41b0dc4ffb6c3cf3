import { createHash } from 'node:crypto'

/*
 * One script per verb. Redis runs a script as one atomic step on the node that holds the key. The
 * clock is the server's, and the server removes expired records.
 *
 * A script handles one or several keys, because a call costs as much as the work for one key. ARGV
 * holds the verb's arguments for each key. The reply is a list: the time of the server, then one
 * answer per key.
 *
 * A first request and a replay run the two short scripts, `begin` and `finish`. They write only
 * what needs no decision: a record where there was none, and the settlement of a live lock. In
 * every other case they change nothing, and the store calls `acquire` or `settle`, which decide.
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

/** A script that handles several keys. */
export interface KeyedScript extends Script {
  /** Whether KEYS also holds, after each record, the hash of its steps. */
  readonly withSteps: boolean
}

export function plainScript(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * Locks a new key. Answers nil, or the value of the record that exists. Since 7.0, which is the
 * first version with REDIS_VERSION_NUM, one SET does both. The head of the line is built once per
 * call, because the keys of one call mostly have the same times.
 */
const BEGIN = `${NOW}
local call = redis.call
local hasSetNxGet = redis.REDIS_VERSION_NUM ~= nil
local heads, expiries, answers = {}, {}, {now}
for n = 1, #KEYS do
  local key, times = KEYS[n], ARGV[2 * n - 1]
  local head, expiresAt = heads[times], expiries[times]
  if not head then
    local lock, ttl = string.match(times, '^(%d+) (%d+)$')
    expiresAt = string.format('%.0f', now + lock + ttl)
    head = string.format('locked %.0f %.0f %s nothing %.0f ', now, now + lock, expiresAt, now)
    heads[times], expiries[times] = head, expiresAt
  end
  local line = head .. ARGV[2 * n]
  if hasSetNxGet then
    answers[n + 1] = call('SET', key, line, 'NX', 'GET', 'PXAT', expiresAt)
  else
    local value = call('GET', key)
    if not value then call('SET', key, line, 'PXAT', expiresAt) end
    answers[n + 1] = value
  end
end
return answers
`

/** Settles a live lock without steps, under its fence. Answers nil if the record is anything else. */
const FINISH = `${NOW}
local call, match = redis.call, string.match
local expiries, answers = {}, {now}
for n = 1, #KEYS do
  local key, held, to, ttl = KEYS[n], ARGV[4 * n - 3], ARGV[4 * n - 2], ARGV[4 * n - 1]
  local fence, lockUntil, expiresAt, rest = match(call('GET', key) or '', '^locked (%d+) (%d+) (%d+) (.*)$')
  if fence == held and tonumber(expiresAt) > now and string.sub(rest, -8) ~= ' +steps\\n' then
    local newExpiresAt = expiries[ttl]
    if not newExpiresAt then
      newExpiresAt = string.format('%.0f', now + ttl)
      expiries[ttl] = newExpiresAt
    end
    local value = to .. ' ' .. fence .. ' ' .. lockUntil .. ' ' .. newExpiresAt .. ' ' .. rest .. ARGV[4 * n]
    call('SET', key, value, 'PXAT', newExpiresAt)
    answers[n + 1] = 1
  else
    answers[n + 1] = false
  end
end
return answers
`

/**
 * `parameters` names the arguments of one key. The body also sees the variables of the record above
 * it.
 */
function script(parameters: string, body: string): KeyedScript {
  const text = `${NOW}
-- Formatting a number takes as long as a command. Most numbers of one call are equal, so each is
-- formatted once.
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
local answers = {now}
for n = 1, #KEYS / 2 do
  key, steps = KEYS[2 * n - 1], KEYS[2 * n]
  read()
  answers[n + 1] = answer(unpack(ARGV, (n - 1) * width + 1, n * width))
end
return answers
`
  return { ...plainScript(text), withSteps: true }
}

/**
 * Like decideAcquire, except that completed and unknown records are left to the caller: they no
 * longer change, so the caller can compare their fingerprint.
 */
const ACQUIRE = `
if not state then
  -- An expired record that Redis still has: its fence is not reused, whatever the clock does.
  fence = digits(math.max(value and fence + 1 or 0, now))
  lockUntil, expiresAt = digits(now + lock), digits(now + lock + ttl)
  rest = 'nothing ' .. digits(now) .. ' ' .. asked .. ' ' .. asker .. '\\n'
  write('locked', '')
  return {value, 'acquired'}
end
if state == 'completed' or state == 'unknown' then return {value} end
local fingerprint, holder = string.match(rest, '^%a+ %d+ (%S*) (%S*)')
local function take(after)
  fence, lockUntil, expiresAt = digits(math.max(fence + 1, now)), digits(now + lock), digits(now + lock + ttl)
  local stepped = hasSteps()
  rest = after .. ' ' .. digits(now) .. ' ' .. asked .. ' ' .. asker .. (stepped and ' +steps\\n' or '\\n')
  if stepped then redis.call('PEXPIREAT', steps, expiresAt) end
  write('locked', '')
  return {value, 'acquired'}
end
if fingerprint ~= asked then return {value, 'mismatch'} end
if state == 'released' then return take('release') end
if holder == asker then return {value, 'acquired'} end
if tonumber(lockUntil) > now then return {value, 'locked'} end
if onCrash == 'takeover' then return take('crash') end
write('unknown', '')
return {value, 'unknown'}
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
  begin: { ...plainScript(BEGIN), withSteps: false },
  finish: { ...plainScript(FINISH), withSteps: false },
  acquire: script('asked, asker, lock, ttl, onCrash', ACQUIRE),
  extend: script('held, lock, ttl', EXTEND),
  settle: script('held, to, ttl, result', SETTLE),
  read: script('', 'return state and value or false'),
  saveStep: script('held, name, result', SAVE_STEP),
  loadSteps: script('', "return state and hasSteps() and redis.call('HGETALL', steps) or {}"),
} satisfies Record<string, KeyedScript>

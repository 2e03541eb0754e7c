import { leaseScript } from './queue.ts';

/** Finds a field of a reply, and a group of a stream. */
export const fieldFunction = `
local function field(names, name)
  for at = 1, #names, 2 do
    if names[at] == name then return names[at + 1] end
  end
end
local function groupOf(key, name)
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    if field(group, 'name') == name then return group end
  end
end
`;

/** Claims what is open with a consumer and idle for so long, and returns whether that was all: it ends after `left` entries. */
export const claimFunction = `
local gone = {}
local function claim(name, idle)
  while left > 0 do
    local page = redis.call('XPENDING', KEYS[2], ARGV[3], 'IDLE', idle, '-', '+', 100, name)
    if #page == 0 then return true end
    local command = { 'XCLAIM', KEYS[2], ARGV[3], ARGV[4], 0 }
    for _, one in ipairs(page) do command[#command + 1] = one[1] end
    command[#command + 1] = 'JUSTID'
    local kept = {}
    for _, id in ipairs(redis.call(unpack(command))) do kept[id] = true end
    for _, one in ipairs(page) do
      if not kept[one[1]] then gone[#gone + 1] = one[1] end
    end
    left = left - #page
  end
  return false
end
`;

/** Returns the open entries of a consumer, and the last delivered id. `gone` has the deleted entries that were found before. */
export const readOpenScript = `
local entries = {}
local read = redis.call('XREADGROUP', 'GROUP', ARGV[3], ARGV[4], 'COUNT', ARGV[5], 'STREAMS', KEYS[2], ARGV[7] or '0')
for _, entry in ipairs(read and read[1][2] or {}) do
  if entry[2] then
    entries[#entries + 1] = entry
  else
    gone[#gone + 1] = entry[1]
    redis.call('XACK', KEYS[2], ARGV[3], entry[1])
  end
end
local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
return { '', field(groupOf(KEYS[2], ARGV[3]), 'last-delivered-id'), first and first[1] or '', gone, entries }`;

/**
 * Returns the entries that the group has not acknowledged, and the last delivered id, atomically with the lease.
 *
 * ARGV: holder, lease time, group, consumer, maximum of entries, and the idle time after which entries of other
 * consumers are claimed, or an empty string. Deleted entries are acknowledged, and named in the reply.
 *
 * Members that share a stream have the same lease, so none of them lives now. What they have left open comes before
 * everything new: all of it is claimed, whatever its idle time, and their consumers are removed. With each read, because the
 * server may have executed a late read of such a member after its lease.
 */
export const openScript = `${leaseScript}${fieldFunction}
local left = math.huge
${claimFunction}
if redis.call('EXISTS', KEYS[2]) == 1 and groupOf(KEYS[2], ARGV[3]) then
  for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[2], ARGV[3])) do
    local name = field(consumer, 'name')
    if string.sub(name, 1, 16) == 'temporal-outbox/' and claim(name, 0) then
      redis.call('XGROUP', 'DELCONSUMER', KEYS[2], ARGV[3], name)
    end
  end
end
if ARGV[6] ~= '' then
  local cursor = '0-0'
  for _ = 1, 100 do
    local claimed = redis.call('XAUTOCLAIM', KEYS[2], ARGV[3], ARGV[4], ARGV[6], cursor, 'COUNT', 100, 'JUSTID')
    cursor = claimed[1]
    for _, id in ipairs(claimed[3] or {}) do gone[#gone + 1] = id end
    if cursor == '0-0' then break end
  end
end
${readOpenScript}`;

/** {@link groupScript} after the lease is taken. */
export const placeScript = `${fieldFunction}
local function before(one, other)
  local oneMs, oneSeq = string.match(one, '(%d+)-(%d+)')
  local otherMs, otherSeq = string.match(other, '(%d+)-(%d+)')
  local a, b = oneMs, otherMs
  if a == b then a, b = oneSeq, otherSeq end
  if #a ~= #b then return #a < #b end
  return a < b
end
local group = redis.call('EXISTS', KEYS[2]) == 1 and groupOf(KEYS[2], ARGV[3])
if not group then return { '', '', '', 0 } end
local last = field(group, 'last-delivered-id')
local info = redis.call('XINFO', 'STREAM', KEYS[2])
local first = field(info, 'first-entry')
local added = field(info, 'entries-added')
local read = field(group, 'entries-read')
local unread = 0
if first and added and read and before(last, first[1]) then unread = added - field(info, 'length') - read end
return { '', last, first and first[1] or '', unread }`;

/**
 * Runs in one transaction with a read of new entries: renews the lease, and returns the last id delivered before the
 * read. The entries do not pass through a script, which would cost more than everything else.
 *
 * ARGV: holder, lease time, group. The number of entries deleted before delivery is known from Redis 7 on.
 */
export const groupScript = `${leaseScript}${placeScript}`;

/** How many entries a group has not acknowledged. Before Redis 7, and after deletions, undelivered ones are counted. */
export const lagScript = `${fieldFunction}
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local group = groupOf(KEYS[1], ARGV[1])
if not group then return redis.call('XLEN', KEYS[1]) end
local pending = field(group, 'pending')
local lag = field(group, 'lag')
if lag then return pending + lag end
local count = 0
local last = field(group, 'last-delivered-id')
repeat
  local page = redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 1000)
  count = count + #page
  if #page > 0 then last = page[#page][1] end
until #page < 1000
return pending + count`;

/**
 * The oldest entry that was delivered to a group and not acknowledged; without any, an empty string and the last one that was
 * delivered. Nothing without the group.
 */
export const openIdScript = `${fieldFunction}
local group = redis.call('EXISTS', KEYS[1]) == 1 and groupOf(KEYS[1], ARGV[1])
if not group then return {} end
local open = redis.call('XPENDING', KEYS[1], ARGV[1])[2]
return { open or '', field(group, 'last-delivered-id') }`;

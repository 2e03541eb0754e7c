import { leaseScript } from './queue.ts';
import { claimFunction, fieldFunction, readOpenScript } from './stream-scripts.ts';

/*
 * KEYS of all: the lease, the stream, the members. ARGV: the holder of a shared lease, the lease time in milliseconds, the
 * group, and this member's consumer.
 */

const memberScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[4])
redis.call('PEXPIRE', KEYS[3], ARGV[2])
`;

/** Beginning of the scripts that read. Returns the name of a member that reads alone, if any. */
export const joinSharedScript = `${leaseScript}${memberScript}`;

/**
 * As {@link openScript}. ARGV[5]: maximum of entries. ARGV[6]: the idle time after which entries of other programs are
 * claimed, or an empty string: none is claimed. ARGV[7]: the id after which entries are returned.
 *
 * Claims the entries of members that have ended, whatever their idle time, and removes their consumers. The claim ends early
 * after 2,000 entries; the rest is found by the next search.
 */
export const sharedOpenScript = `${joinSharedScript}${fieldFunction}
local left = 2000
${claimFunction}
if ARGV[6] ~= '' and redis.call('EXISTS', KEYS[2]) == 1 and groupOf(KEYS[2], ARGV[3]) then
  for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[2], ARGV[3])) do
    local name = field(consumer, 'name')
    local ends = tonumber(redis.call('ZSCORE', KEYS[3], name) or 0)
    if ends <= now then
      local ours = name == 'temporal-outbox' or string.sub(name, 1, 16) == 'temporal-outbox/'
      redis.call('ZREM', KEYS[3], name)
      if claim(name, ours and 0 or ARGV[6]) and ours then
        redis.call('XGROUP', 'DELCONSUMER', KEYS[2], ARGV[3], name)
      end
    end
  end
end
${readOpenScript}`;

/** Returns 1 if this member is still one: then no other has claimed its entries. */
export const renewSharedScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] or not redis.call('ZSCORE', KEYS[3], ARGV[4]) then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
${memberScript}
return 1`;

/** Ends a membership. What is open stays with its consumer, and another member claims it. */
export const releaseSharedScript = `${fieldFunction}
redis.call('ZREM', KEYS[3], ARGV[4])
if redis.call('EXISTS', KEYS[3]) == 0 and redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
if redis.call('EXISTS', KEYS[2]) == 0 or not groupOf(KEYS[2], ARGV[3]) then return 0 end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[2], ARGV[3])) do
  if field(consumer, 'name') == ARGV[4] and field(consumer, 'pending') == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[2], ARGV[3], ARGV[4])
  end
end
return 1`;

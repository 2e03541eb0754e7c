import { fieldFunction } from './stream-scripts.ts';

/**
 * Judges one group of a stream and, if it is told to, removes what is unused, atomically: a consumer that begins to read
 * afterwards finds no group, and makes a new one.
 *
 * KEYS: the stream, the lease of the group's reader, the members that read together. ARGV: the group, the time in milliseconds after which a consumer that
 * asks for nothing counts as gone, and `look`, `remove` or `force`. Returns the verdict, the number of open entries, of
 * consumers and of those that are gone without an open entry, and the shortest time since a consumer asked, or -1.
 *
 * The entries of a removed consumer that are open would be lost, so one that has some stays, even with `force`.
 */
export const tidyScript = `${fieldFunction}
local group = redis.call('EXISTS', KEYS[1]) == 1 and groupOf(KEYS[1], ARGV[1])
if not group then return { 'gone', 0, 0, 0, -1 } end
local open = field(group, 'pending')
local consumers = redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
local limit = tonumber(ARGV[2])
local quiet = -1
local idle = {}
for _, consumer in ipairs(consumers) do
  local since = field(consumer, 'idle')
  if quiet < 0 or since < quiet then quiet = since end
  if since >= limit and field(consumer, 'pending') == 0 then idle[#idle + 1] = field(consumer, 'name') end
end
local verdict = 'unused'
if redis.call('EXISTS', KEYS[2]) == 1 or (quiet >= 0 and quiet < limit) then
  verdict = 'in-use'
elseif open > 0 then
  verdict = 'open'
elseif quiet < 0 then
  verdict = 'new'
end
if ARGV[3] == 'force' or (ARGV[3] == 'remove' and verdict == 'unused') then
  redis.call('XGROUP', 'DESTROY', KEYS[1], ARGV[1])
  redis.call('DEL', KEYS[2], KEYS[3])
  verdict = 'removed'
elseif ARGV[3] == 'remove' then
  for _, name in ipairs(idle) do redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name) end
end
return { verdict, open, #consumers, #idle, quiet }`;

-- Puts the piece of a canceled order back, once however often it is called: 1 put back, 0 already back.
-- KEYS: stock, buyers.   ARGV: user, order.
if redis.call('hget', KEYS[2], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('hset', KEYS[2], ARGV[1], 'returned')
redis.call('incr', KEYS[1])
return 1

-- Sells one piece, at most one per user: 0 sold, 1 sold out, 2 already bought.
-- KEYS: stock, buyers (user -> order), stream of orders.   ARGV: user, voucher, order.
if tonumber(redis.call('get', KEYS[1]) or '0') < 1 then return 1 end
if redis.call('hexists', KEYS[2], ARGV[1]) == 1 then return 2 end
redis.call('decr', KEYS[1])
redis.call('hset', KEYS[2], ARGV[1], ARGV[3])
redis.call('xadd', KEYS[3], '*', 'userId', ARGV[1], 'voucherId', ARGV[2], 'orderId', ARGV[3])
return 0

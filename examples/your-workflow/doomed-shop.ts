// A shop that dies as by `kill -9` when its transaction is committed, before it does anything else.
import { Client, Connection } from '@temporalio/client';
import { startAfter } from './by-hand.ts';
import { connect } from './connect.ts';
import { placeOrder } from './orders.ts';

const [way, id = ''] = process.argv.slice(2);
const die = (): void => void process.kill(process.pid, 'SIGKILL');
if (way === 'outbox') {
  await placeOrder(connect(), id);
  die();
} else {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  await startAfter(connect(), new Client({ connection }), id, die);
}

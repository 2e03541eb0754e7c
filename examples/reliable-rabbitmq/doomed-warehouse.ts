// A warehouse that dies as by `kill -9` with its first message: when its work is done and not committed, or committed and not
// acknowledged.
import { type CrashPoint, crashAt } from 'temporal-outbox/testing';
import { connect } from './connect.ts';
import { startWarehouse } from './warehouse.ts';

crashAt(process.argv[2] as CrashPoint);
await startWarehouse(connect());
process.send?.('ready');

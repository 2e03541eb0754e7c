// A warehouse that dies as by `kill -9` when its first message is stored and not yet acknowledged.
import { crashAt } from 'temporal-outbox/testing';
import { connect } from './connect.ts';
import { startWarehouse } from './warehouse.ts';

crashAt('inbox:committed');
await startWarehouse(connect());
process.send?.('ready');

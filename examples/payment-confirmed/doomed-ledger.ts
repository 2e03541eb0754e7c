import { crashAt } from 'temporal-outbox/testing';
import { ledger, ledgerDatabase } from './ledger.ts';

// A ledger in a process of its own, for the story. It dies as by `kill -9` when its third payment is booked, before the commit.
crashAt('inbox:handled', { pass: 3 });
await ledger(ledgerDatabase()).start();
process.send?.('ready');

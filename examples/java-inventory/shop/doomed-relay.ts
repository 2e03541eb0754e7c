// A relay that dies as by `kill -9` when Kafka has its messages, before the database knows it. So they are sent again.
import { startRelay } from 'temporal-outbox/relay';
import { crashAt } from 'temporal-outbox/testing';
import config from './outbox.config.ts';

crashAt('relay:acknowledged');
await startRelay(config, { logger: false }).ready;

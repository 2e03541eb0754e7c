import { kafkaBroker } from '../../support/fixtures/confirm-stage.ts';
import { receiptsContract } from '../../support/fixtures/receipts-contract.ts';

receiptsContract('Kafka', kafkaBroker);

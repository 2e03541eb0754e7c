import { send } from 'temporal-outbox';

console.log(typeof send);

export { setup } from '../rabbitmq/server.ts';

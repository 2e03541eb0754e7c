import { crashAt } from 'temporal-outbox/testing';
import { connect } from './database.ts';
import { ownFault } from './faults.ts';
import { createOrders } from './orders.ts';

const prisma = connect();
const orders = createOrders(prisma);

// Your own program goes without these lines.
const fault = ownFault();
let handled = 0;
if (fault.where === 'killed before the commit') crashAt('inbox:handled', { pass: fault.order });
if (fault.where === 'killed after the commit') crashAt('inbox:committed', { pass: fault.order });
if (fault.where === 'error')
  orders.use(async (_, next) => {
    handled += 1;
    if (handled === fault.order) throw new Error('The database does not answer.');
    await next();
  });

process.once('SIGTERM', () => void orders.stop().then(() => prisma.$disconnect()));
// It waits for servers that are away; a stop meanwhile is no failure.
await orders.start().catch((error) => {
  if (error.code !== 'OUTBOX_STOPPED') throw error;
});

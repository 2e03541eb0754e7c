// Creates the inventory's database beside the shop's, where it does not exist.
import { inventoryUrl } from '../databases.ts';
import { connect } from '../shop/connect.ts';

const name = new URL(inventoryUrl()).pathname.slice(1);
const shop = connect();
const found: unknown[] = await shop.$queryRaw`select 1 from pg_database where datname = ${name}`;
if (found.length === 0) await shop.$executeRawUnsafe(`create database "${name}"`);
await shop.$disconnect();

import { paymentsDatabase } from './payments.ts';

// The database of the ledger, on the same server as that of the payments.
const payments = paymentsDatabase();
const name = new URL(process.env['LEDGER_DATABASE_URL'] ?? '').pathname.slice(1);
const [found] = await payments.$queryRaw<unknown[]>`select from pg_database where datname = ${name}`;
if (found === undefined) await payments.$executeRawUnsafe(`create database "${name}"`);
await payments.$disconnect();

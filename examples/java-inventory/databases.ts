// Each service has a database of its own. As a program it creates the inventory's, and the tables of both.
import { Pool } from 'pg';
import { env } from 'temporal-outbox';

export const shopUrl = env('DATABASE_URL');

export function inventoryUrl(): string {
  const url = new URL(shopUrl());
  url.pathname += '_inventory';
  return url.href;
}

/** As the driver of Java wants it. */
export function jdbcUrl(): string {
  const { host, password, pathname, username } = new URL(inventoryUrl());
  return `jdbc:postgresql://${host}${pathname}?user=${username}&password=${password}`;
}

const shopTables = `create table if not exists orders (id uuid primary key, sku text, quantity int, status text default 'PLACED')`;
// Nothing in "deduction" prevents a second one for the same order.
const inventoryTables = `
  create table if not exists stock (sku text primary key, pieces int not null);
  create table if not exists deduction (id serial primary key, order_id uuid, sku text, quantity int);
  create table if not exists processed_message (
    consumer text, message_id uuid, processed_at timestamptz not null default now(),
    primary key (consumer, message_id)
  )`;

async function prepare(): Promise<void> {
  const shop = new Pool({ connectionString: shopUrl() });
  await shop.query(shopTables);
  const name = new URL(inventoryUrl()).pathname.slice(1);
  const found = await shop.query('select from pg_database where datname = $1', [name]);
  if (found.rowCount === 0) await shop.query(`create database "${name}"`);
  const inventory = new Pool({ connectionString: inventoryUrl() });
  await inventory.query(inventoryTables);
  await Promise.all([shop.end(), inventory.end()]);
}

if (process.argv[1] === import.meta.filename) await prepare();

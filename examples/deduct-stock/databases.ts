import { env } from 'temporal-outbox';

/** Each service has a database of its own. */
export const shopUrl = env('DATABASE_URL');

export function inventoryUrl(): string {
  const url = new URL(shopUrl());
  url.pathname += '_inventory';
  return url.href;
}

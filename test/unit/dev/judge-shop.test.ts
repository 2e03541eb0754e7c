import { expect, test } from 'vitest';
import { judgeShop, type ShopBooks } from '../../../dev/demo/judge-shop.ts';

const orders: ShopBooks['orders'] = [
  { id: 'o-paid', productId: 'mug', quantity: 2, status: 'PAID' },
  { id: 'o-canceled', productId: 'lamp', quantity: 1, status: 'CANCELED' },
];
const effects = [
  { messageId: 'm-1', orderId: 'o-paid', what: 'placed' },
  { messageId: 'm-2', orderId: 'o-paid', what: 'paid' },
  { messageId: 'm-3', orderId: 'o-canceled', what: 'placed' },
  { messageId: 'm-4', orderId: 'o-canceled', what: 'timed out' },
  { messageId: 'm-5', orderId: 'o-canceled', what: 'canceled' },
];
const products = [
  { id: 'mug', stock: 8, initial: 10 },
  { id: 'lamp', stock: 1, initial: 1 },
];

test('a shop in which every order is notified once and the stock adds up is in order', () => {
  expect(judgeShop({ orders, effects, products })).toEqual([]);
});

test('a repeated effect is found, also when its message has another id', () => {
  const twice = [...effects, { messageId: 'm-6', orderId: 'o-paid', what: 'paid' }];
  expect(judgeShop({ orders, effects: twice, products })).toEqual(['An effect happened twice: paid o-paid.']);
});

test('a missing effect is found, whatever the state in the outbox', () => {
  expect(judgeShop({ orders, effects: effects.slice(1), products })).toEqual([
    'An effect is missing: placed o-paid.',
  ]);
});

test('an effect without an order, as after a rollback, is found', () => {
  const stray = [...effects, { messageId: 'm-6', orderId: 'o-rolled-back', what: 'placed' }];
  expect(judgeShop({ orders, effects: stray, products })).toEqual([
    'An effect has no cause: placed o-rolled-back.',
  ]);
});

test('stock that was not given back, or given back twice, is found', () => {
  const short = [products[0] ?? { id: 'mug', stock: 8, initial: 10 }, { id: 'lamp', stock: 0, initial: 1 }];
  const long = [{ id: 'lamp', stock: 2, initial: 1 }];
  expect(judgeShop({ orders, effects, products: short })).toEqual([
    'The stock of lamp is 0; 1 less 0 sold would be 1.',
  ]);
  expect(judgeShop({ orders, effects, products: long })).toHaveLength(1);
});

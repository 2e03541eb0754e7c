/** The content of the shop's tables at the end. */
export interface ShopBooks {
  readonly orders: readonly {
    readonly id: string;
    readonly productId: string;
    readonly quantity: number;
    readonly status: 'UNPAID' | 'PAID' | 'CANCELED';
  }[];
  readonly effects: readonly {
    readonly messageId: string;
    readonly orderId: string;
    readonly what: string;
  }[];
  /** `stock` is what is left of `initial`. */
  readonly products: readonly { readonly id: string; readonly stock: number; readonly initial: number }[];
}

/** The effects that the consumer must have committed for an order in each status. */
const toldOf = {
  UNPAID: ['placed'],
  PAID: ['placed', 'paid'],
  CANCELED: ['placed', 'timed out', 'canceled'],
};

/**
 * Audits the shop without the outbox tables: each order has its effects exactly once, and the stock matches the sales.
 *
 * @returns the problems found, as sentences; empty if there are none
 */
export function judgeShop({ orders, effects, products }: ShopBooks): readonly string[] {
  return [...judgeEffects(orders, effects), ...judgeStock(orders, products)];
}

function judgeEffects(orders: ShopBooks['orders'], effects: ShopBooks['effects']): readonly string[] {
  const expected = new Set(orders.flatMap(({ id, status }) => toldOf[status].map((what) => `${what} ${id}`)));
  const told = new Set<string>();
  const wrong: string[] = [];
  for (const { orderId, what } of effects) {
    const name = `${what} ${orderId}`;
    if (told.has(name)) wrong.push(`An effect happened twice: ${name}.`);
    else if (!expected.has(name)) wrong.push(`An effect has no cause: ${name}.`);
    told.add(name);
  }
  for (const name of expected) if (!told.has(name)) wrong.push(`An effect is missing: ${name}.`);
  return wrong;
}

function judgeStock(orders: ShopBooks['orders'], products: ShopBooks['products']): readonly string[] {
  return products.flatMap(({ id, stock, initial }) => {
    const sold = orders
      .filter(({ productId, status }) => productId === id && status !== 'CANCELED')
      .reduce((sum, { quantity }) => sum + quantity, 0);
    return stock === initial - sold
      ? []
      : [`The stock of ${id} is ${stock}; ${initial} less ${sold} sold would be ${initial - sold}.`];
  });
}

package inventory;

import java.util.UUID;

/** The payload of the topic deduct-stock. */
record Deduct(UUID orderId, String sku, int quantity) {}

package inventory;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.UUID;

/** What the inventory does with a message. */
final class Inventory {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Connection connection;

    /** @param connection of this instance alone */
    Inventory(Connection connection) throws SQLException {
        this.connection = connection;
        connection.setAutoCommit(false);
    }

    /**
     * Deducts the stock and answers, once per message: the id of the message, the deduction and the answer commit together.
     *
     * @return false if the message was handled before
     * @throws SQLException if nothing has changed, or, after a lost connection, everything may have: the message must come again
     */
    boolean handle(UUID messageId, String payload) throws SQLException, JsonProcessingException {
        Deduct order = JSON.readValue(payload, Deduct.class);
        try {
            boolean isNew = remember(messageId);
            if (isNew) answer(order, deduct(order) ? "deducted" : "not-enough");
            connection.commit();
            return isNew;
        } catch (SQLException | JsonProcessingException error) {
            connection.rollback();
            throw error;
        }
    }

    /** First of all, because it waits for whoever has this message in hand, too. */
    private boolean remember(UUID messageId) throws SQLException {
        return update("insert into processed_message (consumer, message_id) values ('inventory', ?) on conflict do nothing", messageId) == 1;
    }

    private boolean deduct(Deduct order) throws SQLException {
        String take = "update stock set pieces = pieces - ? where sku = ? and pieces >= ?";
        if (update(take, order.quantity(), order.sku(), order.quantity()) == 0) return false;
        update("insert into deduction (order_id, sku, quantity) values (?, ?, ?)", order.orderId(), order.sku(), order.quantity());
        return true;
    }

    /** Sends by SQL: the outbox of this database delivers the answer. */
    private void answer(Deduct order, String result) throws SQLException, JsonProcessingException {
        String payload = JSON.writeValueAsString(Map.of("orderId", order.orderId(), "result", result));
        try (var send = connection.prepareStatement("select id from outbox.send('stock-answered', ?, key => ?)")) {
            send.setString(1, payload);
            send.setString(2, order.orderId().toString());
            send.executeQuery();
        }
    }

    private int update(String sql, Object... values) throws SQLException {
        try (var statement = connection.prepareStatement(sql)) {
            for (int n = 0; n < values.length; n++) statement.setObject(n + 1, values[n]);
            return statement.executeUpdate();
        }
    }
}

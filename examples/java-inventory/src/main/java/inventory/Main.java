package inventory;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.sql.DriverManager;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Consumes the topic deduct-stock until SIGTERM, and then says what it has handled. An error ends it, and whoever supervises it
 * starts it again: what it had in hand is delivered again.
 */
public final class Main {
    private static volatile boolean stopping = false;

    public static void main(String[] args) throws Exception {
        Thread consuming = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            join(consuming);
        }));
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", System.getenv("KAFKA_BROKERS"),
                "group.id", "inventory",
                "auto.offset.reset", "earliest",
                // Offsets follow the database: see below.
                "enable.auto.commit", false,
                // How long a killed process keeps its partitions.
                "session.timeout.ms", 6_000);
        int handled = 0;
        int repeats = 0;
        try (var connection = DriverManager.getConnection(System.getenv("JDBC_URL"));
                var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            var inventory = new Inventory(connection);
            consumer.subscribe(List.of("deduct-stock"));
            while (!stopping) {
                for (var message : consumer.poll(Duration.ofMillis(200))) {
                    if (inventory.handle(idOf(message), message.value())) handled++;
                    else repeats++;
                }
                // Only after the effects are committed. A process that dies in between gets these messages again.
                consumer.commitSync();
            }
        }
        System.out.println("handled " + handled + ", repeats " + repeats);
    }

    /** The same in every delivery, whatever the offset. */
    private static UUID idOf(ConsumerRecord<String, String> message) {
        return UUID.fromString(new String(message.headers().lastHeader("ce_id").value(), UTF_8));
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

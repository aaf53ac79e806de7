import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

/** Keeps numbers on its heap, and a large array that the garbage collector moves about. */
public class Counter {
    public static void main(String[] arguments) throws Exception {
        List<Long> numbers = new ArrayList<>();
        List<byte[]> garbage = new ArrayList<>();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 3001), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            String query = exchange.getRequestURI().getQuery();
            byte[] answer;
            synchronized (numbers) {
                if (query != null) {
                    numbers.add(Long.parseLong(query));
                    garbage.add(new byte[1 << 20]);
                    if (garbage.size() > 3) {
                        garbage.clear();
                    }
                }
                long last = numbers.isEmpty() ? 0 : numbers.get(numbers.size() - 1);
                answer = (numbers.size() + " numbers, last " + last + "\n").getBytes();
            }
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
    }
}

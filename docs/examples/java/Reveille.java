import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A backend's side of Reveille in one file: sign, query, wake, read events, verify a webhook. Java 17, no packages.
 *
 * <pre>
 * export API_ACCESS_KEY_ID=... API_SECRET_KEY=... API_APP_ID=...
 * java Reveille.java status DEVICE_ID
 * java Reveille.java wake DEVICE_ID [0x12ab]
 * java Reveille.java events [CURSOR]                        follows the log, one page per line, until stopped
 * java Reveille.java verify ID TIMESTAMP SIGNATURE < body   a webhook, by API_WEBHOOK_SECRET
 * java Reveille.java sign METHOD TARGET DATE [BODY [NONCE]] prints the Authorization line
 * </pre>
 */
public final class Reveille {
  private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] hmac(byte[] key, byte[] text) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    return mac.doFinal(text);
  }

  static String sha256(byte[] body) throws GeneralSecurityException {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body));
  }

  static boolean hasBody(String method) {
    return List.of("POST", "PUT", "PATCH").contains(method);
  }

  /** The headers to send, signed by TGV1-HMAC-SHA256. `target` is path?query as sent; an empty nonce is none. */
  static Map<String, String> sign(String method, String target, String date, byte[] body, String nonce)
      throws GeneralSecurityException {
    String bodyHash = sha256(body);
    String path = target.replaceFirst("\\?.*", "").replaceFirst("(?<=.)/$", "");
    String query = target.contains("?") ? target.substring(target.indexOf('?') + 1).replace("+", "%20") : "";
    Map<String, String> signed = new TreeMap<>(Map.of("x-tg-algorithm", "TGV1-HMAC-SHA256",
        "x-tg-app-id", System.getenv("API_APP_ID"), "x-tg-content-sha256", bodyHash, "x-tg-date", date));
    if (hasBody(method)) {
      query = ""; // never part of the signature of a request with a body
      signed.putAll(Map.of("content-length", "" + body.length, "content-type", "application/json"));
    }
    if (!nonce.isEmpty()) signed.put("x-tg-nonce", nonce);
    String names = String.join(";", signed.keySet());
    StringBuilder lines = new StringBuilder();
    signed.forEach((name, value) -> lines.append(name + ":" + value + "\n"));
    String canonical = String.join("\n", method, path, query, lines + names, bodyHash);

    String day = date.substring(0, 8);
    String scope = LocalDate.parse(day, DateTimeFormatter.BASIC_ISO_DATE).plusDays(7)
        .format(DateTimeFormatter.BASIC_ISO_DATE) + "/tgv1_request";
    String toSign = String.join("\n", "TGV1-HMAC-SHA256", date, scope, sha256(bytes(canonical)));
    byte[] key = hmac(bytes("TGV1" + System.getenv("API_SECRET_KEY")), bytes(day));
    key = hmac(hmac(key, bytes(path)), bytes("tgv1_request"));
    signed.put("authorization", "TGV1-HMAC-SHA256 Credential=" + System.getenv("API_ACCESS_KEY_ID") + "/" + scope
        + ", SignedHeaders=" + names + ", Signature=" + HexFormat.of().formatHex(hmac(key, bytes(toSign))));
    signed.put("x-tg-signed-headers", names);
    return signed;
  }

  /** Sends a signed request. The response is JSON with a `code`; parse it with the library of your choice. */
  static String request(String method, String target, String json)
      throws GeneralSecurityException, IOException, InterruptedException {
    byte[] body = bytes(json);
    String date = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC).format(Instant.now());
    String nonce = method.equals("GET") ? "" : UUID.randomUUID().toString(); // two changes alike within a second are two
    String origin = System.getenv().getOrDefault("API_ORIGIN", "http://127.0.0.1:8080");
    HttpRequest.Builder made = HttpRequest.newBuilder(URI.create(origin + target))
        .method(method, hasBody(method) ? BodyPublishers.ofByteArray(body) : BodyPublishers.noBody())
        .timeout(Duration.ofSeconds(30)); // an events query waits up to 20 s
    Map<String, String> headers = sign(method, target, date, body, nonce);
    headers.remove("content-length"); // the client sends it itself
    headers.forEach(made::header);
    return HTTP.send(made.build(), HttpResponse.BodyHandlers.ofString()).body();
  }

  /** Standard Webhooks: pass the raw body, before any parser. */
  static boolean verify(String secret, String id, String timestamp, String signatures, byte[] body)
      throws GeneralSecurityException {
    long age = Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp));
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring("whsec_".length())), "HmacSHA256"));
    mac.update(bytes(id + "." + timestamp + "."));
    byte[] expected = bytes("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body)));
    boolean found = false;
    for (String given : signatures.split(" ")) found |= MessageDigest.isEqual(expected, bytes(given));
    return found && age <= 300;
  }

  static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"'; // ids with control characters need a JSON library
  }

  static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  /** Prints a response, and ends the program unless it is a success. */
  static String show(String answer) {
    System.out.println(answer);
    if (!answer.contains("\"code\":0,")) System.exit(1);
    return answer;
  }

  public static void main(String[] arguments) throws Exception {
    String command = arguments.length == 0 ? "" : arguments[0] + " " + (arguments.length - 1);
    switch (command) {
      case "status 1" -> show(request("GET", "/v1/device/connectivity?device_id=" + encoded(arguments[1]), ""));
      case "wake 1", "wake 2" -> // 50402: it may have gone out; ask again, a second wake does no harm
          show(request("POST", "/v1/device/wakeup-request", "{\"device_id\":" + quoted(arguments[1])
              + (arguments.length > 2 ? ",\"custom_data\":" + quoted(arguments[2]) : "") + "}"));
      case "events 0", "events 1" -> {
        String cursor = arguments.length > 1 ? arguments[1] : "latest";
        while (true) { // keep `next` with what you did: nothing is missed or repeated
          String page = show(request("GET", "/v1/events?wait=20&after=" + encoded(cursor), ""));
          Matcher next = Pattern.compile(".*\"next\":\"([^\"]*)\"").matcher(page);
          if (next.find()) cursor = next.group(1);
        }
      }
      case "verify 3" -> {
        boolean valid = verify(System.getenv("API_WEBHOOK_SECRET"), arguments[1], arguments[2], arguments[3],
            System.in.readAllBytes());
        System.out.println(valid ? "valid" : "invalid");
        System.exit(valid ? 0 : 1);
      }
      case "sign 3", "sign 4", "sign 5" -> System.out.println(
          sign(arguments[1], arguments[2], arguments[3], bytes(arguments.length > 4 ? arguments[4] : ""),
              arguments.length > 5 ? arguments[5] : "").get("authorization"));
      default -> System.exit(2); // usage: the head of this file
    }
  }
}

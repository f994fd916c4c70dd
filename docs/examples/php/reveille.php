<?php
/**
 * A backend's side of Reveille in one file: sign, query, wake, read events, verify a webhook. PHP 8, no packages.
 *
 *     export API_ACCESS_KEY_ID=... API_SECRET_KEY=... API_APP_ID=...
 *     php reveille.php status DEVICE_ID
 *     php reveille.php wake DEVICE_ID [0x12ab]
 *     php reveille.php events [CURSOR]                        follows the log, one page per line, until stopped
 *     php reveille.php verify ID TIMESTAMP SIGNATURE < body   a webhook, by API_WEBHOOK_SECRET
 *     php reveille.php sign METHOD TARGET DATE [BODY [NONCE]] prints the Authorization line
 */
declare(strict_types=1);

const WEBHOOK_TOLERANCE_S = 300;

function hmac(string $text, string $key): string
{
    return hash_hmac('sha256', $text, $key, true);
}

/** The headers to send, signed by TGV1-HMAC-SHA256. $target is path?query as sent. */
function sign(string $method, string $target, string $date, string $body, string $nonce = ''): array
{
    [$path, $query] = explode('?', $target, 2) + [1 => ''];
    if (strlen($path) > 1 && str_ends_with($path, '/')) {
        $path = substr($path, 0, -1);
    }
    $bodyHash = hash('sha256', $body);
    $signed = [
        'x-tg-algorithm' => 'TGV1-HMAC-SHA256',
        'x-tg-app-id' => (string) getenv('API_APP_ID'),
        'x-tg-content-sha256' => $bodyHash,
        'x-tg-date' => $date,
    ];
    if (in_array($method, ['POST', 'PUT', 'PATCH'], true)) {
        $query = ''; // never part of the signature of a request with a body
        $signed += ['content-length' => (string) strlen($body), 'content-type' => 'application/json'];
    }
    if ($nonce !== '') {
        $signed['x-tg-nonce'] = $nonce;
    }
    ksort($signed);
    $names = implode(';', array_keys($signed));
    $lines = array_map(fn (string $name): string => "$name:$signed[$name]", array_keys($signed));
    $canonical = implode("\n", [$method, $path, str_replace('+', '%20', $query), ...$lines, $names, $bodyHash]);

    $day = substr($date, 0, 8);
    $scope = (new DateTimeImmutable($day, new DateTimeZone('UTC')))->modify('+7 days')->format('Ymd') . '/tgv1_request';
    $toSign = implode("\n", ['TGV1-HMAC-SHA256', $date, $scope, hash('sha256', $canonical)]);
    $key = hmac('tgv1_request', hmac($path, hmac($day, 'TGV1' . getenv('API_SECRET_KEY'))));
    $signature = bin2hex(hmac($toSign, $key));

    $credential = getenv('API_ACCESS_KEY_ID') . "/$scope";
    $authorization = "TGV1-HMAC-SHA256 Credential=$credential, SignedHeaders=$names, Signature=$signature";
    return $signed + ['x-tg-signed-headers' => $names, 'authorization' => $authorization];
}

/** Sends a signed request. Every response is JSON with a `code`; 0 is success. */
function request(string $method, string $target, ?array $value = null, int $timeoutSeconds = 10): array
{
    $body = $value === null ? '' : json_encode($value, JSON_THROW_ON_ERROR);
    $headers = [];
    $nonce = $method === 'GET' ? '' : bin2hex(random_bytes(16)); // two changes alike within one second are two
    foreach (sign($method, $target, gmdate('Ymd\THis\Z'), $body, $nonce) as $name => $given) {
        $headers[] = "$name: $given";
    }
    $http = ['method' => $method, 'header' => $headers, 'timeout' => $timeoutSeconds, 'ignore_errors' => true];
    if ($value !== null) {
        $http['content'] = $body;
    }
    $origin = getenv('API_ORIGIN') ?: 'http://127.0.0.1:8080';
    $answer = file_get_contents($origin . $target, false, stream_context_create(['http' => $http]));
    return json_decode($answer === false ? '' : $answer, true, 512, JSON_THROW_ON_ERROR);
}

function status(string $deviceId): array
{
    return request('GET', '/v1/device/connectivity?device_id=' . rawurlencode($deviceId));
}

/** Code 0: the packet was sent. 50402: it may have been sent; retry, a second wake does no harm. */
function wake(string $deviceId, ?string $customData = null): array
{
    $body = ['device_id' => $deviceId] + ($customData === null ? [] : ['custom_data' => $customData]);
    return request('POST', '/v1/device/wakeup-request', $body);
}

/** Yields pages of the event log after $cursor, endlessly. Store `next` with your results, so that no event is missed or repeated. */
function events(string $cursor): Generator
{
    do {
        $answer = request('GET', '/v1/events?wait=20&after=' . rawurlencode($cursor), null, 30);
        yield $answer;
        $cursor = $answer['data']['next'] ?? '';
    } while ($answer['code'] === 0);
}

/** Standard Webhooks: pass the raw body, before any parser. */
function verify(string $secret, string $id, string $timestamp, string $signatures, string $body): bool
{
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > WEBHOOK_TOLERANCE_S) {
        return false;
    }
    $key = (string) base64_decode(substr($secret, strlen('whsec_')), true);
    $expected = 'v1,' . base64_encode(hmac("$id.$timestamp.$body", $key));
    foreach (explode(' ', $signatures) as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

function show(array $answer): int
{
    echo json_encode($answer, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES), "\n";
    return $answer['code'] === 0 ? 0 : 1;
}

$command = $argv[1] ?? '';
$rest = array_slice($argv, 2);
switch (true) {
    case $command === 'status' && count($rest) === 1:
        exit(show(status($rest[0])));
    case $command === 'wake' && in_array(count($rest), [1, 2], true):
        exit(show(wake(...$rest)));
    case $command === 'events' && count($rest) < 2:
        foreach (events($rest[0] ?? 'latest') as $page) {
            show($page);
        }
        exit(1);
    case $command === 'verify' && count($rest) === 3:
        $body = (string) stream_get_contents(STDIN);
        $valid = verify((string) getenv('API_WEBHOOK_SECRET'), $rest[0], $rest[1], $rest[2], $body);
        echo $valid ? "valid\n" : "invalid\n";
        exit($valid ? 0 : 1);
    case $command === 'sign' && in_array(count($rest), [3, 4, 5], true):
        echo sign($rest[0], $rest[1], $rest[2], $rest[3] ?? '', $rest[4] ?? '')['authorization'], "\n";
        exit(0);
    default:
        fwrite(STDERR, "usage: see the head of this file\n");
        exit(2);
}

<?php
/**
 * A backend's side of Reveille in one file: sign, query, wake, read events, verify a webhook. PHP 8, no packages.
 *
 *     export REVEILLE_ACCESS_KEY_ID=... REVEILLE_SECRET_KEY=... REVEILLE_APP_ID=...
 *     php reveille.php status DEVICE_ID
 *     php reveille.php wake DEVICE_ID [0x12ab]
 *     php reveille.php events [CURSOR]                        follows the log, a page a line, until it is stopped
 *     php reveille.php verify ID TIMESTAMP SIGNATURE < body   a webhook, by REVEILLE_WEBHOOK_SECRET
 *     php reveille.php sign METHOD TARGET DATE [BODY]         prints the Authorization line
 */
declare(strict_types=1);

const WEBHOOK_TOLERANCE_S = 300;

function hmac(string $text, string $key): string
{
    return hash_hmac('sha256', $text, $key, true);
}

/** The six headers of TGV1-HMAC-SHA256, and Content-Type where there is a body. $target is path?query as sent. */
function sign(string $method, string $target, string $date, string $body): array
{
    [$path, $query] = explode('?', $target, 2) + [1 => ''];
    if (strlen($path) > 1 && str_ends_with($path, '/')) {
        $path = substr($path, 0, -1);
    }
    $appId = (string) getenv('REVEILLE_APP_ID');
    $bodyHash = hash('sha256', $body);
    $signed = [
        'x-tg-algorithm' => 'TGV1-HMAC-SHA256',
        'x-tg-app-id' => $appId,
        'x-tg-content-sha256' => $bodyHash,
        'x-tg-date' => $date,
    ];
    if ($method !== 'GET') {
        $query = ''; // never part of the signature of a request with a body
        $signed += ['content-length' => (string) strlen($body), 'content-type' => 'application/json'];
    }
    ksort($signed);
    $names = implode(';', array_keys($signed));
    $lines = array_map(fn (string $name): string => "$name:$signed[$name]", array_keys($signed));
    $canonical = implode("\n", [$method, $path, str_replace('+', '%20', $query), ...$lines, $names, $bodyHash]);

    $day = substr($date, 0, 8);
    $scope = (new DateTimeImmutable($day, new DateTimeZone('UTC')))->modify('+7 days')->format('Ymd') . '/tgv1_request';
    $toSign = implode("\n", ['TGV1-HMAC-SHA256', $date, $scope, hash('sha256', $canonical)]);
    $key = hmac('tgv1_request', hmac($path, hmac($day, 'TGV1' . getenv('REVEILLE_SECRET_KEY'))));
    $signature = bin2hex(hmac($toSign, $key));

    $credential = getenv('REVEILLE_ACCESS_KEY_ID') . "/$scope";
    $headers = [
        'X-Tg-Algorithm' => 'TGV1-HMAC-SHA256',
        'X-Tg-Date' => $date,
        'X-Tg-App-Id' => $appId,
        'X-Tg-Content-Sha256' => $bodyHash,
        'X-Tg-Signed-Headers' => $names,
        'Authorization' => "TGV1-HMAC-SHA256 Credential=$credential, SignedHeaders=$names, Signature=$signature",
    ];
    return $method === 'GET' ? $headers : $headers + ['Content-Type' => 'application/json'];
}

/** One signed request. Every answer is JSON with a `code`; 0 is success. */
function request(string $method, string $target, ?array $value = null, int $timeoutSeconds = 10): array
{
    $body = $value === null ? '' : json_encode($value, JSON_THROW_ON_ERROR);
    $headers = [];
    foreach (sign($method, $target, gmdate('Ymd\THis\Z'), $body) as $name => $given) {
        $headers[] = "$name: $given";
    }
    $http = ['method' => $method, 'header' => $headers, 'timeout' => $timeoutSeconds, 'ignore_errors' => true];
    if ($value !== null) {
        $http['content'] = $body;
    }
    $origin = getenv('REVEILLE_ORIGIN') ?: 'http://127.0.0.1:8080';
    $answer = file_get_contents($origin . $target, false, stream_context_create(['http' => $http]));
    return json_decode($answer === false ? '' : $answer, true, 512, JSON_THROW_ON_ERROR);
}

function status(string $deviceId): array
{
    return request('GET', '/v1/device/connectivity?device_id=' . rawurlencode($deviceId));
}

/** Code 0: the packet went out. 50402: it may have; ask again, a second wake does no harm. */
function wake(string $deviceId, ?string $customData = null): array
{
    $body = ['device_id' => $deviceId] + ($customData === null ? [] : ['custom_data' => $customData]);
    return request('POST', '/v1/device/wakeup-request', $body);
}

/** Pages of the event log behind $cursor, for ever. Keep `next` with what you did: nothing is missed or repeated. */
function events(string $cursor): Generator
{
    do {
        $answer = request('GET', '/v1/events?wait=20&after=' . rawurlencode($cursor), null, 30);
        yield $answer;
        $cursor = $answer['data']['next'] ?? '';
    } while ($answer['code'] === 0);
}

/** Standard Webhooks: the body's bytes as they came, before any parser. */
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
        $valid = verify((string) getenv('REVEILLE_WEBHOOK_SECRET'), $rest[0], $rest[1], $rest[2], $body);
        echo $valid ? "valid\n" : "invalid\n";
        exit($valid ? 0 : 1);
    case $command === 'sign' && in_array(count($rest), [3, 4], true):
        echo sign($rest[0], $rest[1], $rest[2], $rest[3] ?? '')['Authorization'], "\n";
        exit(0);
    default:
        fwrite(STDERR, "usage: see the head of this file\n");
        exit(2);
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  callRates,
  mediaProcessSettings,
  sleepGatewaySettings,
  verifierThreads,
  wakeupLimitSettings,
} from '../../../../src/server/config/gateway-settings.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';

function overridden(...overrides: string[]) {
  return loadSettings({ env: {}, overrides });
}

test('the sleep section says by default what the gateway takes for its defaults', () => {
  assert.deepEqual(sleepGatewaySettings(overridden()), {
    host: '127.0.0.1',
    port: 8081,
    maxSessions: 1_000_000,
    acceptsPerSecond: 20_000,
    acceptRampSeconds: 0,
    handshakesMax: 20_000,
    handshakesPerAddressMax: 1000,
    admissionQueueMax: 20_000,
    admissionWaitMs: 5000,
    loginDeadlineMs: 10_000,
    writeDeadlineMs: 1000,
    writeStuckMs: 10_000,
    floodBytesMax: 4096,
    floodWindowMs: 10_000,
    proxyProtocol: false,
    tls: null,
  });
});

test('the bound per address is off behind a balancer that does not speak the PROXY protocol', () => {
  const behind = overridden('sleep.behind_balancer=true');
  const told = overridden('sleep.behind_balancer=true', 'sleep.proxy_protocol=true');
  assert.equal(sleepGatewaySettings(behind).handshakesPerAddressMax, 0);
  assert.equal(sleepGatewaySettings(told).handshakesPerAddressMax, 1000);
});

test('a certificate and its key go together', () => {
  const { tls } = sleepGatewaySettings(overridden('sleep.tls_cert_file=c.pem', 'sleep.tls_key_file=k.pem'));
  assert.deepEqual(tls, { certFile: 'c.pem', keyFile: 'k.pem' });
});

test('wake limits are those of the specification, and a burst follows its rate unless it is set', () => {
  const { device, application, inFlightMax } = wakeupLimitSettings(overridden());
  assert.deepEqual(
    [device, application],
    [
      { perSecond: 1, burst: 3 },
      { perSecond: 200, burst: 400 },
    ],
  );
  assert.equal(inFlightMax, 2000);
  const raised = wakeupLimitSettings(
    overridden('wakeup.device_per_second=100', 'wakeup.application_burst=7'),
  );
  assert.deepEqual([raised.device.burst, raised.application.burst], [300, 7]);
  assert.equal(wakeupLimitSettings(overridden('wakeup.device_per_second=0.01')).device.burst, 1);
});

test('calls of an application are limited only where it is set', () => {
  assert.deepEqual(callRates(overridden()), {
    queries: null,
    issuances: null,
    messages: null,
    eventReads: null,
  });
  const { queries, eventReads } = callRates(
    overridden(
      'limits.queries_per_second=50',
      'limits.event_reads_per_second=0.1',
      'limits.event_reads_burst=9',
    ),
  );
  assert.deepEqual(queries, { perSecond: 50, burst: 100 });
  assert.deepEqual(eventReads, { perSecond: 0.1, burst: 9 });
});

test('verification takes the threads it is given, else all processors but one, 1 to 4', () => {
  assert.equal(verifierThreads(overridden('auth.threads=9'), 2), 9);
  assert.deepEqual(
    [1, 2, 4, 64].map((processors) => verifierThreads(overridden(), processors)),
    [1, 1, 3, 4],
  );
});

test('the media section says by default what the listener takes for its defaults', () => {
  assert.deepEqual(mediaProcessSettings(overridden()).legs, {
    host: '127.0.0.1',
    port: 8083,
    legsMax: 4000,
    handshakesMax: 1000,
    handshakesPerAddressMax: 250,
    tls: null,
  });
});

test("where it listens, what it holds and its certificate are the section's", () => {
  const overrides = [
    'media.listen=[::1]:9000',
    'media.legs_max=7',
    'media.handshakes_max=8',
    'media.tls_cert_file=c.pem',
    'media.tls_key_file=k.pem',
  ];
  assert.deepEqual(mediaProcessSettings(overridden(...overrides)).legs, {
    host: '::1',
    port: 9000,
    legsMax: 7,
    handshakesMax: 8,
    handshakesPerAddressMax: 250,
    tls: { certFile: 'c.pem', keyFile: 'k.pem' },
  });
});

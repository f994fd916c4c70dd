import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  callRates,
  frontCount,
  mediaChildSettings,
  verifierThreads,
  wakeupLimitSettings,
  mediaOrigin,
  mediaUrl,
} from '../../../../src/server/config/derived-settings.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { type ListenAddress, parseListenAddress } from '../../../../src/lib/connections/listen-address.ts';

function overridden(...overrides: string[]) {
  return loadSettings({ env: {}, overrides });
}

test('wakeup limits are those of the specification, and a default burst follows its rate', () => {
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

test('API calls of an application are limited only if configured', () => {
  assert.deepEqual(callRates(overridden()), {
    queries: null,
    issuances: null,
    messages: null,
    eventReads: null,
    provisionings: null,
  });
  const { queries, eventReads } = callRates(
    overridden('limits.queries_per_second=50', 'limits.event_reads_per_second=0.1'),
  );
  assert.deepEqual(queries, { perSecond: 50, burst: 100 });
  assert.deepEqual(eventReads, { perSecond: 0.1, burst: 1 });
});

test('verification uses the configured threads, by default 1 to 4: one less than the CPUs', () => {
  assert.equal(verifierThreads(overridden('auth.threads=9'), 2), 9);
  assert.deepEqual(
    [1, 2, 4, 64].map((processors) => verifierThreads(overridden(), processors)),
    [1, 1, 3, 4],
  );
});

function reachOf(address: ListenAddress, process = 0, advertise: string | null = null) {
  return { process, address, advertise };
}

function originOf(address: string, ...overrides: string[]): string {
  const parsed = parseListenAddress(address);
  assert.ok(parsed !== null);
  return mediaOrigin(loadSettings({ env: {}, overrides }), reachOf(parsed));
}

test('links lead to the media listener, or to the advertised address', () => {
  assert.equal(originOf('127.0.0.1:40001'), 'http://127.0.0.1:40001');
  assert.equal(originOf('0.0.0.0:40001'), 'http://127.0.0.1:40001');
  assert.equal(originOf('[::]:40001'), 'http://[::1]:40001');
  assert.equal(originOf('media.example:8083', ...tls), 'https://media.example:8083');
  const advertised = 'media.advertise=https://media.example/';
  assert.equal(originOf('127.0.0.1:40001', advertised), 'https://media.example');
  const told = 'media.advertise=media.example:9083';
  assert.equal(originOf('127.0.0.1:40001', told), 'http://media.example:9083');
  assert.equal(originOf('127.0.0.1:40001', 'media.advertise=wss://media.example'), 'https://media.example');
});

function urlFor(address: string | null, ...overrides: string[]): string | null {
  const parsed = address === null ? null : parseListenAddress(address);
  return mediaUrl(loadSettings({ env: {}, overrides }), parsed === null ? null : reachOf(parsed));
}

const tls = ['media.tls_cert_file=cert.pem', 'media.tls_key_file=key.pem'];
const elsewhere = ['media.process=elsewhere', 'media.link_listen=127.0.0.1:0', 'media.link_key_file=k'];

for (const [advertised, plain, secured] of [
  ['media.example:9083', 'ws://media.example:9083', 'wss://media.example:9083'],
  ['ws://media.example', 'ws://media.example', 'ws://media.example'],
  ['http://media.example:80/', 'ws://media.example:80', 'ws://media.example:80'],
  ['wss://[2001:db8::1]:443', 'wss://[2001:db8::1]:443', 'wss://[2001:db8::1]:443'],
  ['https://media.example', 'wss://media.example', 'wss://media.example'],
] as const)
  test(`devices receive ${plain} if ${advertised} is advertised, and ${secured} with a certificate`, () => {
    const advertise = `media.advertise=${advertised}`;
    assert.equal(urlFor('127.0.0.1:1', advertise), plain);
    assert.equal(urlFor(null, advertise, ...tls), secured);
    assert.equal(urlFor(null, advertise, ...elsewhere), plain);
  });

test('devices receive the address of the media listener as soon as it is known', () => {
  assert.equal(urlFor('127.0.0.1:40001'), 'ws://127.0.0.1:40001');
  assert.equal(urlFor('[::]:40001', ...tls), 'wss://[::1]:40001');
  assert.equal(urlFor(null, 'media.listen=10.0.0.5:8083'), 'ws://10.0.0.5:8083');
  assert.equal(urlFor(null, 'media.listen=10.0.0.5:0'), null);
  assert.equal(urlFor('10.0.0.9:8083', ...elsewhere), 'ws://10.0.0.9:8083');
  assert.equal(urlFor(null, ...elsewhere), null);
});

test('devices receive no media listener if there is none, or if a media process elsewhere reports no valid host', () => {
  const advertise = 'media.advertise=media.example:8083';
  assert.equal(urlFor('127.0.0.1:1', advertise, 'media.process=none'), null);
  for (const host of ['h'.repeat(254), 'a/b', 'user@host'])
    assert.equal(
      mediaUrl(loadSettings({ env: {}, overrides: elsewhere }), reachOf({ host, port: 1 })),
      null,
      host,
    );
});

test('each of several children has its own origin', () => {
  const overrides = ['media.processes=2', 'media.advertise=wss://a.example:1, wss://a.example:2'];
  const settings = loadSettings({ env: {}, overrides });
  assert.equal(mediaUrl(settings, reachOf(settings.media.listen, 1)), 'wss://a.example:2');
});

test('the address of a media process elsewhere is the setting, its own setting, or its listen address, in this order', () => {
  const address = { host: '10.0.0.9', port: 8083 };
  const own = reachOf(address, 1, 'https://media-2.example');
  const told = (...overrides: string[]): string | null =>
    mediaUrl(loadSettings({ env: {}, overrides: [...elsewhere, ...overrides] }), own);
  assert.equal(told(), 'wss://media-2.example');
  assert.equal(told('media.advertise=media.example:1'), 'ws://media.example:1');
  assert.equal(
    mediaUrl(loadSettings({ env: {}, overrides: elsewhere }), reachOf(address)),
    'ws://10.0.0.9:8083',
  );
});

test('children have consecutive UDP ports, or share a range', () => {
  const portsOf = (process: number, ...overrides: string[]) =>
    mediaChildSettings(loadSettings({ env: {}, overrides }), process).webrtc?.ports;
  assert.equal(portsOf(1), null, 'that of its listener');
  assert.deepEqual(portsOf(1, 'media.rtc_port=9100'), { first: 9101, last: 9101 });
  assert.deepEqual(portsOf(1, 'media.rtc_port_range=9100-9199'), { first: 9100, last: 9199 });
});

test('children share the CPUs and listen on consecutive ports', () => {
  const of = (process: number, ...overrides: string[]) =>
    mediaChildSettings(loadSettings({ env: {}, overrides: ['media.processes=2', ...overrides] }), process);
  assert.deepEqual([of(0).legs.port, of(1).legs.port], [8083, 8084]);
  assert.equal(of(1, 'media.listen=127.0.0.1:0').legs.port, 0);
  assert.equal(of(1, 'media.workers=3').workers, 3);
  assert.ok(of(1).workers >= 1);
});

test('the API has the configured fronts on Linux, and at most one elsewhere', () => {
  const counts = (asked: number) =>
    (['linux', 'darwin', 'win32'] as const).map((platform) =>
      frontCount(overridden(`api.fronts=${asked}`), platform),
    );
  assert.deepEqual(counts(0), [0, 0, 0]);
  assert.deepEqual(counts(4), [4, 1, 1]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings, SettingsError } from '../../../../src/server/config/settings.ts';
import { mediaProcessSettings } from '../../../../src/server/config/derived-settings.ts';

const elsewhere = [
  'media.process=elsewhere',
  'media.link_listen=10.0.0.5:8085',
  'media.link_key_file=link.key',
];

function load(overrides: readonly string[], env: NodeJS.ProcessEnv = {}): ReturnType<typeof loadSettings> {
  return loadSettings({ env, overrides });
}

test('a server with a media process elsewhere needs an address and a key', () => {
  const { media } = load(elsewhere);
  assert.deepEqual(media.link_listen, { host: '10.0.0.5', port: 8085 });
  for (const [missing, word] of [
    [1, 'link_listen'],
    [2, 'link_key_file'],
  ] as const)
    assert.throws(
      () => load(elsewhere.filter((_, index) => index !== missing)),
      (error) => error instanceof SettingsError && error.message.includes(word),
    );
});

test('ICE servers become links, with their passwords, and invalid ones are refused', () => {
  const servers = 'media.ice_servers=stun:a.example:3478,turn:b.example:3478?transport=tcp user secret';
  assert.deepEqual(mediaProcessSettings(load([servers])).legs.rtc, {
    corsOrigins: ['*'],
    iceServers: [
      '<stun:a.example:3478>; rel="ice-server"',
      '<turn:b.example:3478?transport=tcp>; rel="ice-server"; username="user"; credential="secret"; credential-type="password"',
    ],
  });
  for (const bad of ['http://a.example', 'turn:a.example user', 'stun:a>b', 'turn:a.example user "x"'])
    assert.throws(() => load([`media.ice_servers=${bad}`]), SettingsError, bad);
});

for (const bad of [
  'media.process=thread',
  'media.workers=-1',
  'media.processes=0',
  'media.processes=17',
  'media.load_max=0',
  'media.load_max=1.5',
  'media.quality=0',
  'media.quality=101',
  'media.frame_width_max=4097',
  'media.frame_height_max=8',
])
  test(`${bad} is refused with its name`, () => {
    assert.throws(
      () => load([bad]),
      (error) => error instanceof SettingsError && error.message.includes(bad.split('=')[0] ?? ''),
    );
  });

test('several children each need a port', () => {
  const twoAt = (port: number, rtcPort = 9000) =>
    load([`media.listen=127.0.0.1:${port}`, `media.rtc_port=${rtcPort}`, 'media.processes=2']).media;
  assert.throws(() => twoAt(65_535), /media\.listen.*at most 65534, since media\.processes is 2/);
  assert.throws(() => twoAt(8083, 65_535), /media\.rtc_port.*at most 65534/);
  assert.equal(twoAt(65_534).processes, 2);
  assert.equal(twoAt(0).processes, 2, 'free ones are found');
});

test('several media processes each need an address', () => {
  const elsewhere = ['media.process=elsewhere', 'media.link_listen=127.0.0.1:0', 'media.link_key_file=k'];
  const two = (advertise: string, ...more: string[]) =>
    load(['media.processes=2', `media.advertise=${advertise}`, ...more]).media.advertise;
  assert.throws(
    () => two('wss://a.example'),
    /media\.advertise.*one origin for each media process.*media\.processes is 2/,
  );
  assert.throws(
    () => two('wss://a.example', ...elsewhere),
    /media\.advertise.*nothing, since media\.processes is 2/,
  );
  const each = 'wss://a.example, wss://b.example';
  assert.equal(two(each), each);
  assert.equal(
    two('wss://a.example', 'media.link_server=10.0.0.5:8085'),
    'wss://a.example',
    'it is one of them',
  );
});

test('the media process receives the whole media section', () => {
  const settings = load([
    'media.listen=0.0.0.0:9000',
    'media.workers=2',
    'media.quality=90',
    'media.frame_width_max=1280',
    'media.frame_height_max=720',
    'media.max_fps=10',
    'media.tls_cert_file=/cert.pem',
    'media.tls_key_file=/key.pem',
  ]);
  assert.deepEqual(mediaProcessSettings(settings), {
    legs: {
      host: '0.0.0.0',
      port: 9000,
      legsMax: 4000,
      handshakesMax: 1000,
      handshakesPerAddressMax: 250,
      tls: { certFile: '/cert.pem', keyFile: '/key.pem' },
      rtc: { corsOrigins: ['*'], iceServers: [] },
    },
    workers: 2,
    loadMax: 0.85,
    quality: 90,
    sourceMax: { width: 1280, height: 720 },
    maxFps: 10,
    webrtc: { ports: null, advertise: [], peersMax: 500 },
    advertise: null,
  });
});

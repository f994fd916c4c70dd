import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  loadSettings,
  encodeSettings,
  maskSetting,
  settingKeys,
} from '../../../../src/server/config/settings.ts';
import { problemsOf } from '../../../support/setting-problems.ts';
import { settingsFiles } from '../../../support/settings-files.ts';
import { checkout, readFromRoot } from '../../../support/checkout.ts';

const folder = mkdtempSync(join(tmpdir(), 'settings-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'config.json');

function fileOf(content: unknown): string {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

test('without any sources the defaults of the specification are in force', () => {
  const { api, sleep, ops, data, wakeup, auth, log } = loadSettings({ env: { PATH: '/bin' } });
  assert.deepEqual(api.listen, { host: '127.0.0.1', port: 8080 });
  assert.equal(ops.listen.port, 8090);
  assert.equal(data.dir, '.reveille');
  assert.deepEqual(
    [sleep.handshakes_max, sleep.handshakes_per_address_max, sleep.login_deadline_ms, sleep.drain_per_second],
    [20_000, 1000, 10_000, 2000],
  );
  assert.deepEqual(
    [wakeup.device_per_second, wakeup.application_per_second, wakeup.in_flight_max],
    [1, 200, 2000],
  );
  assert.deepEqual([auth.verification, auth.clock_window_s, log.level], ['pool', 300, 'info']);
});

test('every documented name is accepted', () => {
  const settings = loadSettings({
    env: {
      REVEILLE_API_LISTEN: '0.0.0.0:0',
      REVEILLE_SLEEP_LISTEN: '[::1]:0',
      REVEILLE_SIGNAL_LISTEN: 'localhost:1',
      REVEILLE_MEDIA_LISTEN: '127.0.0.1:65535',
      REVEILLE_OPS_LISTEN: '[::]:8090',
      REVEILLE_DATA_DIR: '/var/lib/x',
      REVEILLE_REGISTRY_FILE: 'registry.json',
      REVEILLE_MEDIA_BRIDGE_KEYS: 'one, two',
      REVEILLE_CLUSTER_NATS_URL: 'nats://127.0.0.1:4222',
      REVEILLE_CLUSTER_NODE_NAME: 'node-1',
      REVEILLE_LOG_LEVEL: 'debug',
      REVEILLE_SLEEP_ADVERTISE: 'sleep.example:8081,[2001:db8::1]:8081',
      REVEILLE_AUTH_VERIFICATION: 'inline',
      REVEILLE_WEBHOOKS_ALLOW_LOCAL: 'true',
      REVEILLE_WAKEUP_DEVICE_PER_SECOND: '1000',
      REVEILLE_WAKEUP_APPLICATION_PER_SECOND: '0.5',
    },
  });
  assert.deepEqual(settings.sleep.listen, { host: '::1', port: 0 });
  assert.deepEqual(settings.ops.listen, { host: '::', port: 8090 });
  assert.deepEqual(settings.sleep.advertise, ['sleep.example:8081', '[2001:db8::1]:8081']);
  assert.deepEqual(settings.media.bridge_keys, ['one', 'two']);
  assert.equal(settings.registry.file, 'registry.json');
  assert.equal(settings.webhooks.allow_local, true);
  assert.equal(settings.wakeup.application_per_second, 0.5);
});

test('the environment overrides the file, a flag overrides both, and the last flag wins', () => {
  const settings = loadSettings({
    file: fileOf({ sleep: { handshakes_max: 1, admission_wait_ms: 1, write_stuck_ms: 1 } }),
    env: { REVEILLE_SLEEP_ADMISSION_WAIT_MS: '2', REVEILLE_SLEEP_WRITE_STUCK_MS: '2' },
    overrides: ['sleep.write_stuck_ms=3', 'sleep.write_stuck_ms=4', 'data.dir=a=b'],
  });
  const { handshakes_max, admission_wait_ms, write_stuck_ms } = settings.sleep;
  assert.deepEqual([handshakes_max, admission_wait_ms, write_stuck_ms], [1, 2, 4]);
  assert.equal(settings.data.dir, 'a=b');
});

test('an empty text means null, or an empty list, if the setting allows it', () => {
  const env = {
    REVEILLE_REGISTRY_FILE: '',
    REVEILLE_MEDIA_BRIDGE_KEYS: '',
    REVEILLE_WAKEUP_DEVICE_BURST: '',
  };
  const settings = loadSettings({ env });
  assert.deepEqual([settings.registry.file, settings.media.bridge_keys], [null, []]);
  assert.equal(settings.wakeup.device_burst, null);
  assert.equal(problemsOf({ env: { REVEILLE_DATA_DIR: '' } }).length, 1);
});

test('a problem with an unknown key names it and the closest one, for every source', () => {
  assert.deepEqual(problemsOf({ env: { REVEILLE_SLEEP_MAX_SESSION: '5' } }), [
    'REVEILLE_SLEEP_MAX_SESSION: no such setting; the closest is REVEILLE_SLEEP_MAX_SESSIONS',
  ]);
  assert.deepEqual(problemsOf({ overrides: ['log.lvel=info'] }), [
    '--set log.lvel: no such setting; the closest is log.level',
  ]);
  assert.deepEqual(problemsOf({ file: fileOf({ slep: {}, sleep: { listn: '' } }) }), [
    `${file}: slep: no such setting; the closest is sleep`,
    `${file}: sleep.listn: no such setting; the closest is sleep.listen`,
  ]);
});

test('variables that Kubernetes sets for a Service are refused with the cause, in one line', () => {
  const ofService = (name: string): Record<string, string> => ({
    [`${name}_SERVICE_HOST`]: '10.0.0.1',
    [`${name}_SERVICE_PORT`]: '8080',
    [`${name}_SERVICE_PORT_API`]: '8080',
    [`${name}_PORT`]: 'tcp://10.0.0.1:8080',
    [`${name}_PORT_8080_TCP`]: 'tcp://10.0.0.1:8080',
    [`${name}_PORT_8080_TCP_PROTO`]: 'tcp',
    [`${name}_PORT_8080_TCP_PORT`]: '8080',
    [`${name}_PORT_8080_TCP_ADDR`]: '10.0.0.1',
  });
  for (const name of ['REVEILLE', 'REVEILLE_SLEEP', 'REVEILLE_MEDIA_RTC']) {
    const env = ofService(name);
    assert.deepEqual(problemsOf({ env }), [
      `${Object.keys(env).join(', ')}: no settings; Kubernetes makes them of a Service whose name begins with reveille: ` +
        'set enableServiceLinks: false in the pod, or rename the Service',
    ]);
  }
});

test('a settings file may begin with a byte order mark, and is not UTF-16', () => {
  const text = '{"log":{"level":"debug"}}';
  assert.equal(loadSettings({ env: {}, file: fileOf(`\ufeff${text}`) }).log.level, 'debug');
  writeFileSync(file, Buffer.from(`\ufeff${text}`, 'utf16le'));
  assert.deepEqual(problemsOf({ file }), [
    `${file}: expected a file of JSON: Error: ${file} is UTF-16: save it as UTF-8`,
  ]);
});

test('a problem with a value names it, the expected and the actual value', () => {
  assert.deepEqual(problemsOf({ env: { REVEILLE_SLEEP_MAX_SESSIONS: 'many' } }), [
    'REVEILLE_SLEEP_MAX_SESSIONS (sleep.max_sessions): expected a whole number from 1 to 10000000; got "many"',
  ]);
  assert.deepEqual(problemsOf({ overrides: ['auth.verification=worker'] }), [
    '--set auth.verification: expected one of pool, inline; got "worker"',
  ]);
  assert.deepEqual(problemsOf({ file: fileOf({ auth: { explain_mismatch: 'true' } }) }), [
    `${file}: auth.explain_mismatch: expected true or false; got "true"`,
  ]);
});

test('an address needs a valid host and port', () => {
  const bad = [
    '',
    ':8080',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:65536',
    '::1:80',
    '[::1]',
    '[x]:80',
    'a b:1',
    'a:-1',
  ];
  for (const listen of bad)
    assert.match(
      problemsOf({ env: { REVEILLE_API_LISTEN: listen } }).join(),
      /expected host:port, .*; got "/,
      listen,
    );
  for (const advertise of ['sleep.example', 'sleep.example:0'])
    assert.equal(problemsOf({ env: { REVEILLE_SLEEP_ADVERTISE: advertise } }).length, 1, advertise);
  for (const advertise of [
    'media.example',
    'media.example:0',
    'ws://media.example:0',
    'wss://media.example:65536',
    'ftp://media.example',
    'wss://media.example/path',
    'wss://user@media.example',
    `wss://${'h'.repeat(254)}`,
  ])
    assert.equal(problemsOf({ env: { REVEILLE_MEDIA_ADVERTISE: advertise } }).length, 1, advertise);
});

test('numbers are plain, whole where they must be, and in range', () => {
  for (const text of ['', ' 1', '1e3', '0x10', '1.5', '-1', '0', 'NaN', '10000001'])
    assert.equal(problemsOf({ env: { REVEILLE_SLEEP_MAX_SESSIONS: text } }).length, 1, text);
});

test('all problems are reported at once', () => {
  const problems = problemsOf({
    file: fileOf({ log: { level: 'loud' }, api: 1 }),
    env: { REVEILLE_NOPE: '1', REVEILLE_AUTH_THREADS: 'x' },
    overrides: ['nonsense', 'log.level'],
  });
  assert.equal(problems.length, 6);
});

test('a missing or malformed file is a problem that quotes none of its content', () => {
  assert.match(
    problemsOf({ file: join(folder, 'nowhere') }).join(),
    /nowhere: expected a file of JSON: .*ENOENT/,
  );
  assert.match(problemsOf({ file: fileOf('[]') }).join(), /expected an object of sections/);
  const [problem = ''] = problemsOf({ file: fileOf('{"media": {"bridge_keys": ["hush-hush" "x"]}}') });
  assert.match(problem, /expected a file of JSON/);
  assert.doesNotMatch(problem, /hush/);
});

test('a certificate without its key is refused', () => {
  assert.deepEqual(problemsOf({ env: { REVEILLE_SLEEP_TLS_CERT_FILE: 'cert.pem' } }), [
    'sleep.tls_key_file: expected a path: a certificate and its key are given together; got null',
  ]);
  assert.deepEqual(problemsOf({ env: { REVEILLE_API_TLS_KEY_FILE: 'key.pem' } }), [
    'api.tls_cert_file: expected a path: a certificate and its key are given together; got null',
  ]);
});

test('secrets are shown neither in problems nor in settings in force', () => {
  const env = {
    REVEILLE_MEDIA_BRIDGE_KEYS: 'hush,hush',
    REVEILLE_CLUSTER_NATS_CREDENTIALS: 'hush',
    REVEILLE_CLUSTER_NATS_URL: 'nats://user:hush@host:4222',
  };
  const values = encodeSettings(loadSettings({ env }));
  const shown = Object.fromEntries(
    settingKeys.map((setting) => [
      setting.name,
      maskSetting(setting, values[setting.section]?.[setting.key]),
    ]),
  );
  assert.deepEqual(shown['media.bridge_keys'], ['***', '***']);
  assert.equal(shown['cluster.nats_url'], 'nats://***@host:4222');
  assert.doesNotMatch(JSON.stringify(shown), /hush/);
  assert.doesNotMatch(problemsOf({ env: { REVEILLE_MEDIA_BRIDGE_KEYS: 'hush,,hush' } }).join(), /hush/);
});

test('settings in force, written to a file, load to the same settings', () => {
  const settings = loadSettings({
    env: { REVEILLE_API_LISTEN: '[::1]:80', REVEILLE_SLEEP_ADVERTISE: 'a:1,b:2' },
  });
  assert.deepEqual(loadSettings({ env: {}, file: fileOf(encodeSettings(settings)) }), settings);
});

test('settings cannot be changed once they are read', () => {
  const settings = loadSettings({ env: {} });
  assert.ok([settings, settings.sleep, settings.sleep.advertise].every((part) => Object.isFrozen(part)));
});

test('every setting has its own variable and a complete description', () => {
  assert.ok(settingKeys.length > 40);
  assert.equal(new Set(settingKeys.map(({ variable }) => variable)).size, settingKeys.length);
  for (const { name, description } of settingKeys) assert.match(description, /^[A-Z].*\.$/, name);
  for (const { section } of settingKeys) assert.match(section, /^[a-z]+$/);
});

test('config/default.json and docs/reference/settings.md show the settings as they are', async () => {
  for (const [path, text] of await settingsFiles())
    assert.equal(
      readFromRoot(path),
      text,
      `${path} is stale: node --import tsx test/support/settings-files.ts`,
    );
});

test('config/default.json is a file that changes nothing', () => {
  const path = fileURLToPath(new URL('config/default.json', checkout));
  assert.deepEqual(loadSettings({ env: {}, file: path }), loadSettings({ env: {} }));
});

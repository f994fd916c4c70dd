/** `reveille init` with options and by a dialogue: the files it creates, its refusals, and its clean-up after a failure. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { withRegistry } from '../../../../src/cli/admin/local-registry.ts';
import { addInitCommand } from '../../../../src/cli/init/init-command.ts';
import type { Dialogue } from '../../../../src/cli/shell/dialogue.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { commandScene, type CommandScene, type CommandSources } from '../../../support/command-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../../../support/test-certificate.ts';

interface InitScene extends CommandScene {
  readonly folder: string;
  readonly file: string;
  /** Runs with `--yes` on free ports. */
  readonly begin: (...options: readonly string[]) => Promise<void>;
}

function initScene(t: Ending, sources: CommandSources = {}): InitScene {
  const folder = temporaryDirectory(t);
  const file = join(folder, 'reveille.json');
  const scene = commandScene(t, addInitCommand, { config: file, ...sources });
  const begin = (...options: readonly string[]): Promise<void> =>
    scene.run('init', '--yes', '--port', '0', ...options);
  return { ...scene, folder, file, begin };
}

interface InitAnswer {
  readonly secrets: { readonly access_key_id: string; readonly secret_key: string };
  readonly next: readonly string[];
}

/** Gives the answers in order and records the questions. The input ends after the last answer. */
function dialogueOf(...answers: readonly string[]): { open: () => Dialogue; asked: string[] } {
  const asked: string[] = [];
  const left = [...answers];
  const ask = (question: string): Promise<string | null> => {
    asked.push(question);
    return Promise.resolve(left.shift() ?? null);
  };
  return { asked, open: () => ({ ask, close: () => undefined }) };
}

function assertNothingMade({ file, dataDirectory }: InitScene): void {
  assert.equal(existsSync(file), false);
  assert.deepEqual(readdirSync(dataDirectory), []);
}

test('init writes a file that only its owner can read, and a store with an application, a product and an access key', async (t) => {
  const { begin, file, dataDirectory, output } = initScene(t);
  await begin('--app', 'acme', '--product', 'bell', '--device', 'DOOR-1');
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600);
  const { api, ops, data } = loadSettings({ file, env: {} });
  assert.deepEqual([api.listen.host, api.tls_cert_file, ops.listen.host], ['127.0.0.1', null, '127.0.0.1']);
  assert.equal(data.dir, dataDirectory);
  const { secrets, next } = output.json as InitAnswer;
  await withRegistry(dataDirectory, async (registry) => {
    assert.deepEqual(await registry.find('application', 'acme'), { app_id: 'acme', name: 'acme' });
    assert.deepEqual(await registry.find('product', 'bell'), { product_id: 'bell', app_ids: ['acme'] });
    const credential = await registry.find('credential', secrets.access_key_id);
    assert.equal(credential?.['secret_key'], secrets.secret_key);
    const device = await registry.find('device', 'DOOR-1');
    assert.equal(device?.['product_id'], 'bell');
    assert.ok(output.text.includes(String(device['secret'])) && output.text.includes(secrets.secret_key));
  });
  assert.equal(next.length, 3);
  assert.deepEqual(
    next.map((line) => line.replace(/^.*reveille (?:-- )?/, '')),
    [
      `serve --config ${file}`,
      `simulate --devices 1 --config ${file}`,
      `wake DOOR-1 --wait --config ${file}`,
    ],
  );
  assert.ok(output.text.endsWith(next.map((line) => `  ${line}`).join('\n')));
});

test('without a device, the next commands add one', async (t) => {
  const { begin, output } = initScene(t);
  await begin();
  const { next } = output.json as InitAnswer;
  assert.match(next[1] ?? '', /device add DOOR-1 --product doorbell /);
  assert.match(next[2] ?? '', /simulate --devices 1 --wake-every 5 /);
});

test('secrets written to a file are readable by its owner only, and appear nowhere else', async (t) => {
  const { begin, folder, output } = initScene(t);
  const secrets = join(folder, 'key.json');
  await begin('--secrets', secrets, '--device', 'D');
  if (process.platform !== 'win32') assert.equal(statSync(secrets).mode & 0o777, 0o600);
  const { secret_key: key, devices } = JSON.parse(readFileSync(secrets, 'utf8')) as {
    secret_key: string;
    devices: { secret: string }[];
  };
  const [device] = devices;
  assert.ok(device !== undefined);
  const said = output.text + JSON.stringify(output.json) + output.remarks.join();
  assert.ok(!said.includes(key) && !said.includes(device.secret));
});

test('ports follow the API port, devices elsewhere receive the advertised name, and options for settings go into the file', async (t) => {
  const { run, file, output } = initScene(t, {
    set: ['calls.require_bridge=true', 'ops.listen=127.0.0.1:0'],
  });
  await run('init', '--yes', '--port', '28471', '--host', '0.0.0.0', '--advertise', 'reveille.example');
  const { sleep, media, calls, signal } = loadSettings({ file, env: {} });
  assert.deepEqual(sleep.listen, { host: '0.0.0.0', port: 28_472 });
  assert.equal(signal.listen.port, 28_473);
  assert.deepEqual(sleep.advertise, ['reveille.example:28472']);
  assert.equal(media.advertise, 'reveille.example:28474');
  assert.equal(calls.require_bridge, true);
  assert.match(output.remarks.join('\n'), /^without TLS, anyone on the network path can read/);
});

test('init overwrites nothing: no settings, no store, no other files in the directory, no file of secrets', async (t) => {
  const scene = initScene(t);
  const { begin, file, folder, dataDirectory } = scene;
  const secrets = join(folder, 'key.json');
  writeFileSync(secrets, 'mine');
  await assert.rejects(begin('--secrets', secrets), {
    message: `${secrets} exists already and is not overwritten`,
  });
  assertNothingMade(scene);
  writeFileSync(join(dataDirectory, 'mine'), '');
  await assert.rejects(begin(), { message: `${dataDirectory} contains other files` });
  assert.equal(existsSync(file), false);
  const other = initScene(t);
  await other.begin();
  const text = readFileSync(other.file, 'utf8');
  await assert.rejects(other.begin(), {
    message: `${other.file} exists already and is not overwritten`,
  });
  assert.equal(readFileSync(other.file, 'utf8'), text);
  rmSync(other.file);
  await assert.rejects(other.begin(), { message: `there is a store in ${other.dataDirectory} already` });
  assert.equal(existsSync(other.file), false);
});

test('a failure half way leaves nothing behind', async (t) => {
  const scene = initScene(t);
  await assert.rejects(scene.begin('--secrets', join(scene.folder, 'nowhere', 'key.json')), {
    message: /key\.json cannot be written: /,
  });
  assertNothingMade(scene);
  const blocked = join(scene.folder, 'plain');
  writeFileSync(blocked, '');
  const inFile = commandScene(t, addInitCommand, { config: scene.file, dataDir: join(blocked, 'data') });
  await assert.rejects(inFile.run('init', '--yes', '--port', '0'));
  assert.equal(existsSync(scene.file), false);
});

test('a variable that would override the file is refused', async (t) => {
  const scene = initScene(t, { env: { REVEILLE_API_LISTEN: '127.0.0.1:9' } });
  await assert.rejects(scene.begin(), {
    message: 'REVEILLE_API_LISTEN is set and would override api.listen in the file',
    exitCode: 2,
  });
  assertNothingMade(scene);
});

test('invalid options are refused, each by its name', async (t) => {
  const scene = initScene(t);
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as AddressInfo;
  const refusals: readonly (readonly [option: string, value: string, message: RegExp])[] = [
    ['--host', 'reveille.example', /^reveille\.example: expected an IP address of this machine/],
    ['--host', '192.0.2.1', /^192\.0\.2\.1:0: not an address of this machine$/],
    ['--port', 'http', /^http: expected a port from 0 to 65525$/],
    ['--port', String(port), /^api\.listen: 127\.0\.0\.1:\d+: in use by another program/],
    ['--advertise', 'a b', /^expected a name or an address by which devices reach this machine/],
    ['--tls-cert', '/nope.pem', /^\/nope\.pem: there is no such file$/],
    ['--tls-key', '/nope.pem', /^a private key needs its certificate$/],
    ['--app', 'a\nb', /^an id is 1-255 bytes/],
  ];
  for (const [option, value, message] of refusals)
    await assert.rejects(scene.begin(option, value), {
      message,
      advice: `give another value with ${option}`,
    });
  await assert.rejects(scene.begin('--sleep-tls'), { message: 'modules that use TLS need a certificate' });
  await assert.rejects(scene.begin('--host', '0.0.0.0'), { message: /by which devices reach this machine/ });
  await assert.rejects(scene.run('init'), { message: 'there is no terminal to ask at', exitCode: 2 });
  assertNothingMade(scene);
});

test(
  'a certificate is parsed, must match its key, and must be valid today',
  { skip: noOpenssl },
  async (t) => {
    const clock = new DrivenClock(Date.now() + 3_600_000);
    const scene = initScene(t, { clock });
    const certificate = new TestCertificate(scene.folder);
    const withTls = (...more: readonly string[]): Promise<void> =>
      scene.begin('--tls-cert', certificate.certFile, '--tls-key', certificate.keyFile, ...more);
    certificate.use('door.example');
    certificate.mix('door.example', 'another.example');
    await assert.rejects(withTls(), { message: /not the key of the certificate in/ });
    certificate.use('door.example');
    await assert.rejects(scene.begin('--tls-cert', certificate.certFile), {
      message: 'a certificate needs its private key: a PEM file',
    });
    clock.advance(3 * 86_400_000);
    await assert.rejects(withTls(), { message: /the certificate has expired on 20\d\d-/ });
    assertNothingMade(scene);
  },
);

test(
  'a certificate is for API, signal and media, and for sleep if modules use TLS',
  { skip: noOpenssl },
  async (t) => {
    const choose = async (...more: readonly string[]) => {
      const scene = initScene(t, { clock: new DrivenClock(Date.now() + 3_600_000) });
      const certificate = new TestCertificate(scene.folder);
      certificate.use('door.example');
      chmodSync(certificate.keyFile, 0o600);
      const { certFile, keyFile } = certificate;
      await scene.begin('--tls-cert', certFile, '--tls-key', keyFile, ...more);
      const { api, signal, media, sleep } = loadSettings({ file: scene.file, env: {} });
      const remarks = scene.output.remarks.join('\n').replaceAll(certFile, 'CERT');
      return { files: [api, signal, media, sleep].map((at) => at.tls_cert_file === certFile), remarks };
    };
    const usual = await choose();
    assert.deepEqual(usual.files, [true, true, true, false]);
    assert.match(usual.remarks, /^CERT expires on 20\d\d-/);
    const named = await choose('--sleep-tls', '--advertise', 'bell.example');
    assert.deepEqual(named.files, [true, true, true, true]);
    assert.match(named.remarks, /CERT is not for bell\.example: devices will refuse it/);
  },
);

test('init asks only for missing options, and repeats a question after an invalid answer', async (t) => {
  const { open, asked } = dialogueOf('nowhere', '', '99999', '0', '', 'acme', 'DOOR-1', '', 'yes');
  const { run, dataDirectory, output, file } = initScene(t, { openDialogue: open });
  await run('init', '--product', 'bell');
  assert.deepEqual(output.remarks, [
    'nowhere: expected an IP address of this machine, without a port',
    '99999: expected a port from 0 to 65525',
  ]);
  assert.match(asked[0] ?? '', /^Address to listen on .* \[127\.0\.0\.1\]:$/);
  assert.equal(asked.at(-1), `Write ${file}, and create a store in ${dataDirectory} [yes]:`);
  assert.ok(!asked.some((question) => question.includes('product')), 'an option says it');
  await withRegistry(dataDirectory, async (registry) => {
    assert.ok(await registry.find('application', 'acme'));
    assert.ok(await registry.find('product', 'bell'));
    assert.ok(await registry.find('device', 'DOOR-1'));
  });
});

test('the answer no, the end of the input and Ctrl-C write nothing', async (t) => {
  const refused = { message: 'cancelled: nothing was written' };
  const answers = ['', '0', '', '', '', '', ''];
  for (const last of [['no'], []]) {
    const scene = initScene(t, { openDialogue: dialogueOf(...answers, ...last).open });
    await assert.rejects(scene.run('init'), refused);
    assertNothingMade(scene);
  }
  const interrupting = {
    ask: (_question: string, signal: AbortSignal): Promise<string> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        process.emit('SIGINT', 'SIGINT');
      }),
    close: () => undefined,
  };
  const scene = initScene(t, { openDialogue: () => interrupting });
  await assert.rejects(scene.run('init'), refused);
  assertNothingMade(scene);
});

/** Every change by an operator is recorded: the audit log of a whole server, and its answers. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { addAuditCommand } from '../../src/cli/admin/audit-command.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { OpsClient } from '../../src/cli/admin/ops-client.ts';
import type { AuditLine } from '../../src/model/audit.ts';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { anIntent, linesInFile, openAudit } from '../support/audit-scene.ts';
import { commandScene } from '../support/command-scene.ts';
import { opsOf } from '../support/driven-server.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { runArgs } from '../support/checkout.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

let server: TestServer;
let ops: OpsClient;
/** All secrets in requests and answers. */
const secrets: string[] = [];

before(async () => {
  server = await startTestServer();
  ops = opsOf(server);
});
after(() => server.stop());

/** The lines that `act` adds. */
async function audited(act: () => Promise<unknown>): Promise<AuditLine[]> {
  const before = linesInFile(server.dataDirectory).length;
  await act();
  return linesInFile(server.dataDirectory).slice(before);
}

/** Number of devices in the line of an import. */
function devicesOf(line: AuditLine | undefined): unknown {
  const counts = line?.ids.counts;
  return typeof counts === 'object' && counts !== null && 'device' in counts ? counts.device : null;
}

function auditLines(): object[] {
  return server.log.lines.filter(({ message }) => message === 'audit').map(({ fields }) => fields);
}

interface Answer {
  readonly [key: string]: Readonly<Record<string, string>>;
}

/** Makes the change, and collects the secrets of its answer. */
async function change(path: string, body: object): Promise<Answer> {
  const answer = await ops.change<Answer>(path, body);
  const { device, credential } = answer;
  for (const secret of [device?.['secret'], credential?.['secret_key'], answer['key'], answer['token']])
    if (typeof secret === 'string' && secret !== '***') secrets.push(secret);
  return answer;
}

const refusals = /no |maximum number|only token key|delivered/;

async function refused(path: string, body: object): Promise<void> {
  await assert.rejects(ops.change(path, body), refusals);
}

test('the first import is in the log as an import at the start', () => {
  const [line] = linesInFile(server.dataDirectory);
  assert.deepEqual(
    [line?.operator, line?.role, line?.action, line?.result],
    ['start', null, 'registry.import', 'ok'],
  );
  assert.equal(devicesOf(line), 8);
  assert.match(String(line?.ids.sha256), /^[0-9a-f]{64}$/);
});

test('every change has one line in the file and in the log: operator, address, action, ids and result', async () => {
  const session = { session: 'no-such-session' };
  const hook = { url: 'https://user:hunter2@backend.example/hook?key=hunter2' };
  secrets.push('hunter2', 'a-secret-that-was-given');
  const given = { device_id: 'NEW', product_id: 'doorbell', secret: 'a-secret-that-was-given' };
  const lines = await audited(async () => {
    await change('/v1/device/add', given);
    await change('/v1/device/add', { device_id: 'NEW-2', product_id: 'doorbell' });
    await change('/v1/device/disable', { device_id: 'NEW' });
    await change('/v1/device/kick', { device_id: 'NEW' });
    await refused('/v1/device/disable', { device_id: 'NOBODY' });
    const { credential } = await change('/v1/credential/create', { app_id: '2818153' });
    const access_key_id = credential?.['access_key_id'];
    await change('/v1/credential/rotate', { access_key_id });
    await change('/v1/credential/revoke', { access_key_id });
    await change('/v1/bridge/add', { bridge_id: 'bridge-9', app_ids: ['2818153'] });
    await change('/v1/bridge/revoke', { bridge_id: 'bridge-9' });
    await change('/v1/bridge/remove', { bridge_id: 'bridge-9' });
    await refused('/v1/bridge/remove', { bridge_id: 'bridge-9' });
    await change('/v1/token-keys/rotate', {});
    await refused('/v1/token-keys/retire', { kid: 'none' });
    await change('/v1/ops-tokens/create', { name: 'alice', role: 'viewer' });
    await change('/v1/ops-tokens/revoke', { name: 'alice' });
    for (const path of ['end', 'ticket', 'watch']) await refused(`/v1/calls/${path}`, session);
    for (const path of ['test', 'replay', 'enable']) await refused(`/v1/webhook/${path}`, hook);
    await ops.importFile(join(server.dataDirectory, 'registry.json'), {
      replace: false,
      dryRun: false,
      deletions: 'few',
    });
  });
  assert.deepEqual(
    lines.map(({ action, result }) => `${action} ${result}`),
    [
      'device.add ok',
      'device.add ok',
      'device.disable ok',
      'device.kick ok',
      'device.disable refused',
      'credential.create ok',
      'credential.rotate ok',
      'credential.revoke ok',
      'bridge.add ok',
      'bridge.revoke ok',
      'bridge.remove ok',
      'bridge.remove refused',
      'token-key.rotate ok',
      'token-key.retire refused',
      'ops-token.create ok',
      'ops-token.revoke ok',
      'call.end refused',
      'call.ticket refused',
      'call.watch refused',
      'webhook.test refused',
      'webhook.replay refused',
      'webhook.enable refused',
      'registry.import ok',
    ],
  );
  for (const { operator, role, from, at } of lines) {
    assert.deepEqual([operator, role, from], ['local', 'operator', '127.0.0.1']);
    assert.equal(new Date(at).toISOString(), at);
  }
  assert.deepEqual(auditLines().slice(-lines.length), lines);
  assert.deepEqual(lines[0]?.ids, { device_id: 'NEW', product_id: 'doorbell' });
  assert.equal(lines[4]?.reason, 'no device "NOBODY" in the registry');
  assert.equal(lines[6]?.ids.access_key_id, lines[5]?.ids.access_key_id);
  assert.equal(lines[19]?.ids.url, 'https://user:***@backend.example/hook?key=***');
  assert.equal(devicesOf(lines.at(-1)), 8);
});

test('no secret of a request or answer is in the file or in the log', () => {
  const text = readFileSync(join(server.dataDirectory, 'audit.log'), 'utf8') + JSON.stringify(auditLines());
  assert.ok(secrets.length >= 7);
  for (const secret of secrets) assert.equal(text.includes(secret), false, secret);
});

test('a change whose line cannot be written is refused without effect', async () => {
  const path = join(server.dataDirectory, 'audit.log');
  renameSync(path, `${path}.aside`);
  mkdirSync(path);
  const before = auditLines().length;
  try {
    const refusal = /refused: the audit log cannot be written/;
    await assert.rejects(ops.change('/v1/device/disable', { device_id: 'SLEEPING01' }), refusal);
    const file = join(server.dataDirectory, 'more.json');
    writeFileSync(file, JSON.stringify({ applications: [{ app_id: 'more', name: 'more' }] }));
    await assert.rejects(ops.importFile(file, { replace: false, dryRun: false, deletions: 'few' }), refusal);
    await server.server.reload();
    assert.ok(server.log.lines.some(({ message }) => message === 'not reloaded'));
  } finally {
    rmdirSync(path);
    renameSync(`${path}.aside`, path);
  }
  const query = new URLSearchParams({ device_id: 'SLEEPING01' });
  const status = await ops.ask<{ device: { disabled: boolean } }>('/v1/device/status', query);
  assert.equal(status.device.disabled, false);
  assert.equal(auditLines().length, before);
  await assert.rejects(change('/v1/credential/create', { app_id: 'more' }), /no application "more"/);
});

test('no answer has a secret that was not requested', async () => {
  const answers: unknown[] = [];
  const ask = async (path: string, query: Record<string, string> = {}): Promise<void> =>
    void answers.push(await ops.ask(path, new URLSearchParams(query)));
  await ask('/v1/device/status', { device_id: 'TESTDEVICE01' });
  for (const path of ['calls', 'events', 'webhook/list', 'token-keys', 'ops-tokens', 'cluster'])
    await ask(`/v1/${path}`);
  const given = { device_id: 'GIVEN', product_id: 'doorbell', secret: 'the secret of GIVEN' };
  answers.push(await ops.change('/v1/device/add', given));
  for (const disabled of [true, false])
    answers.push(await ops.change('/v1/device/disable', { device_id: 'GIVEN', disabled }));
  answers.push(await ops.change('/v1/credential/revoke', { access_key_id: 'AKtest-second' }));
  answers.push(await ops.change('/v1/bridge/revoke', { bridge_id: 'bridge-1', revoked: false }));
  answers.push(await ops.change('/v1/token-keys/rotate', {}));
  const text = JSON.stringify(answers);
  assert.doesNotMatch(text, /secret of|"key"|"token"/);
  const { keys } = JSON.parse(readFileSync(join(server.dataDirectory, 'token-keys.json'), 'utf8')) as {
    keys: { secret: string }[];
  };
  for (const { secret } of keys) assert.equal(text.includes(secret), false);
  const made = await ops.change<Answer>('/v1/device/add', { device_id: 'MADE', product_id: 'doorbell' });
  assert.match(made['device']?.['secret'] ?? '', /^[\w-]{43}$/, 'what was made just now is told');
});

test('a change interrupted by a kill has a line with an unknown result', async (t) => {
  const directory = temporaryDirectory(t);
  const program = runArgs(moduleBeside('audit-crash-process', import.meta.url));
  const child = spawn(process.execPath, [...program, directory]);
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const { audit } = openAudit(directory, new SystemClock());
  await audit.record(
    anIntent(),
    () => Promise.resolve(),
    () => ({ result: 'ok' }),
  );
  assert.deepEqual(
    linesInFile(directory).map(({ action, result }) => [action, result]),
    [
      ['device.kick', 'unknown'],
      ['device.kick', 'ok'],
    ],
  );
});

test('a line for people is always one line', async (t) => {
  await refused('/v1/device/kick', { device_id: 'a\n\u001b[2J' });
  const { run, output } = commandScene(t, addAuditCommand, { dataDir: server.dataDirectory });
  await run('audit', '--limit', '1', '--action', 'device.*');
  assert.match(
    output.text,
    /device\.kick +local +refused {2}device_id="a\\n\\u001b\[2J" {2}from 127\.0\.0\.1: no device/,
  );
  await run('audit', '--operator', 'nobody');
  assert.deepEqual(output.remarks, ['the audit log has no such change']);
});

test('the command line follows the log across a rotation and a SIGHUP, which is recorded at every log level', async (t) => {
  const data = join(temporaryDirectory(t), 'data');
  const file = join(temporaryDirectory(t), 'registry.json');
  const evil = 'evil\n\u001b[2J';
  const registry = {
    applications: [{ app_id: 'a', name: 'a' }],
    products: [{ product_id: 'p', app_ids: ['a'] }],
    devices: [{ device_id: evil, product_id: 'p', secret: 'secret-of-the-device' }],
  };
  writeFileSync(file, JSON.stringify(registry));
  const overrides = [`data.dir=${data}`, 'log.level=error', `registry.file=${file}`];
  const { command } = await startServerProcess(t, overrides);
  const follower = new LongCommand(t, ['audit', '--follow', '--json', '--data-dir', data]);
  await follower.line((line) => line.includes('"operator":"start"'));
  process.kill(command.pid ?? 0, 'SIGHUP');
  await follower.line((line) => line.includes('"action":"settings.reload"'));
  // As in a rotation: the next line is written to a new file.
  renameSync(join(data, 'audit.log'), join(data, 'audit.log.1'));
  const kicked = await runCli(['device', 'kick', evil, '--data-dir', data]);
  assert.equal(kicked.stderr, 'evil\\u000a\\u001b[2J has no session: nothing to end\n');
  await follower.line((line) => line.includes('"action":"device.kick"'));
  assert.equal(await follower.stop('SIGINT'), 0);
  const linesOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line) as AuditLine);
  const whoAndWhat = (lines: readonly AuditLine[]) =>
    lines.map(({ operator, action, result }) => `${operator} ${action} ${result}`);
  const expected = ['start registry.import ok', 'signal settings.reload ok', 'local device.kick ok'];
  assert.deepEqual(whoAndWhat(linesOf(follower.lines)), expected);
  const logged = command.lines.filter((line) => line.includes('"msg":"audit"'));
  assert.deepEqual(whoAndWhat(linesOf(logged)), expected);
  const listed = await runCli(['registry', 'list', 'devices', '--data-dir', data]);
  assert.match(listed.stdout, /^evil\\u000a\\u001b\[2J +p +\*\*\*/m);
  assert.equal(await command.stop('SIGTERM'), 0);
});

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { checkFiles } from '../../../../src/server/health/file-checks.ts';
import { checkMachine } from '../../../../src/cli/doctor/doctor-machine.ts';
import type { Machine } from '../../../../src/server/health/machine-checks.ts';
import type { Finding } from '../../../../src/server/health/finding.ts';
import { checkRegistry } from '../../../../src/cli/doctor/doctor-registry.ts';
import type { AccessKeyId, ApplicationId } from '../../../../src/model/ids.ts';
import type { Credential } from '../../../../src/model/registry.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const well: Machine = {
  nodeVersion: '22.0.0',
  openFilesMax: Infinity,
  receiveBufferMax: null,
  acceptQueueMax: null,
  migratesConnections: null,
  addressSpaceMax: Infinity,
};

/** The findings about a machine that is healthy except for the given values. */
async function found(
  check: string,
  machine: Partial<Machine>,
  set: readonly string[] = [],
  clock = new DrivenClock(),
): Promise<Finding[]> {
  const context = new CommandContext({ set }, {}, { clock });
  const findings = await checkMachine(context, { ...well, ...machine });
  return findings.filter((finding) => finding.check === check);
}

async function states(...asked: Parameters<typeof found>): Promise<string[]> {
  return (await found(...asked)).map(({ state }) => state);
}

for (const [nodeVersion, state] of [
  ['20.20.2', 'ok'],
  ['22.0.0', 'ok'],
  ['21.1.0', 'warn'],
  ['24.0.0', 'ok'],
  ['20.11.9', 'fail'],
  ['18.20.0', 'fail'],
] as const)
  test(`Node ${nodeVersion}: ${state}`, async () => {
    assert.deepEqual(await states('node', { nodeVersion }), [state]);
  });

test('too few open files for the configured sessions are a warning, none at all a failure', async () => {
  const set = ['sleep.max_sessions=19000'];
  for (const openFilesMax of [20_024, Infinity])
    assert.deepEqual(await states('open files', { openFilesMax }, set), ['ok']);
  const [few] = await found('open files', { openFilesMax: 4096 }, set);
  assert.equal(few?.state, 'warn');
  assert.match(few.found, /3072 sleep sessions/);
  assert.match(String(few.advice), /ulimit -n 20024/);
  assert.deepEqual(await states('open files', { openFilesMax: 1024 }, set), ['fail']);
});

test('the WebRTC library is loaded if the media process would load it', async () => {
  const library = async (set: string): Promise<string[]> =>
    (await found('webrtc', {}, [set])).map((finding) => `${finding.state} ${finding.found}`);
  assert.deepEqual(await library('media.webrtc=true'), ['ok its library loads']);
  assert.deepEqual(await library('media.webrtc=false'), ['ok switched off: media.webrtc']);
  assert.deepEqual(await library('media.process=none'), ['ok not needed here: media.process is none']);
});

test('receive buffers as large as a read of the front end are a warning if strangers can reach it', async () => {
  for (const [host, receiveBufferMax, said] of [
    ['0.0.0.0', 6_291_456, ['warn']],
    ['0.0.0.0', 524_288, ['warn']],
    ['0.0.0.0', 393_216, ['ok']],
    ['0.0.0.0', null, []],
    ['127.0.0.1', 6_291_456, []],
  ] as const)
    assert.deepEqual(
      await states('receive buffers', { receiveBufferMax }, [`api.listen=${host}:8080`]),
      said,
    );
});

test('an accept queue too short for a storm of modules is a warning, unless several sockets share the port', async () => {
  for (const [nodeVersion, host, acceptQueueMax, said] of [
    ['20.20.2', '0.0.0.0', 4096, ['warn the accept queues hold 4096 modules']],
    ['20.20.2', '0.0.0.0', 32_768, ['ok the accept queues hold 32768 modules']],
    ['22.12.0', '0.0.0.0', 4096, ['ok the accept queues hold 32768 modules']],
    ['22.12.0', '0.0.0.0', 128, ['warn the accept queues hold 1024 modules']],
    ['20.20.2', '0.0.0.0', null, []],
    ['20.20.2', '127.0.0.1', 128, []],
  ] as const) {
    const findings = await found('accept queue', { nodeVersion, acceptQueueMax }, [
      `sleep.listen=${host}:8081`,
    ]);
    assert.deepEqual(
      findings.map(({ state, found: what }) => `${state} ${what.split(':')[0]}`),
      said,
    );
  }
});

test('a kernel that does not migrate connections is a warning if cores or fronts share the API port', async () => {
  for (const [host, edges, migratesConnections, said] of [
    ['0.0.0.0', 2, false, ['warn']],
    ['0.0.0.0', 2, true, ['ok']],
    ['0.0.0.0', 2, null, []],
    ['0.0.0.0', 0, false, []],
    ['127.0.0.1', 2, false, []],
  ] as const)
    assert.deepEqual(
      await states('new connections at an upgrade', { migratesConnections }, [
        `api.listen=${host}:8080`,
        `sleep.edges=${edges}`,
      ]),
      said,
    );
});

const nowS = Date.UTC(2026, 10, 20, 8, 30) / 1000;
const weekS = 7 * 86_400;
const one = { application: 1, product: 1, credential: 1, device: 1, webhook: 0, bridge: 0 };
const none = { application: 0, product: 0, credential: 0, device: 0, webhook: 0, bridge: 0 };

function credentialUntil(notAfter: number | null): Credential {
  return {
    accessKeyId: 'AK1' as AccessKeyId,
    secretKey: 's3cret',
    appId: 'app' as ApplicationId,
    grants: ['*'],
    notBefore: null,
    notAfter,
    revoked: false,
  };
}

/** Judges counts and a credential without a store. No finding contains a secret. */
async function judged(counts: typeof one, credential: Credential | null, newestMs = 0): Promise<string[]> {
  const context = new CommandContext({}, {}, { clock: new DrivenClock() });
  const [store, ...findings] = await checkRegistry(context, async () => ({
    counts,
    credential,
    newestMs,
    mapBytes: 8192,
  }));
  assert.deepEqual([store?.check, store?.state], ['store', 'ok']);
  assert.doesNotMatch(JSON.stringify(findings), /s3cret/);
  return findings.map(({ check, state }) => `${check} ${state}`);
}

for (const [name, counts, credential, said] of [
  ['an empty registry: nobody can call', none, null, ['registry warn']],
  ['no valid credential', one, null, ['registry ok', 'credential fail']],
  ['a credential without end', one, credentialUntil(null), ['registry ok', 'credential ok']],
  ['one that ends within a week', one, credentialUntil(nowS + weekS), ['registry ok', 'credential warn']],
  ['no device', { ...one, device: 0 }, credentialUntil(null), ['registry warn', 'credential ok']],
] as const)
  test(`the doctor finds ${name}: ${said.join(', ')}, and shows no secret`, async () => {
    assert.deepEqual(await judged(counts, credential), said);
  });

test('an event in the future means that the clock was set back', async () => {
  const nowMs = new DrivenClock().wallMs();
  const valid = credentialUntil(null);
  assert.deepEqual(await judged(one, valid, nowMs + 30_000), ['registry ok', 'credential ok']);
  assert.deepEqual(await judged(one, valid, nowMs + 90_000), [
    'store clock fail',
    'registry ok',
    'credential ok',
  ]);
});

test('a clock in a year before this release fails', async () => {
  for (const [wallMs, state] of [
    [Date.UTC(2026, 5), 'ok'],
    [Date.UTC(1970, 0, 2), 'fail'],
  ] as const)
    assert.deepEqual(await states('clock', {}, [], new DrivenClock(wallMs)), [state]);
});

test('a registry file that others can write is a warning with advice', (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'registry.json');
  writeFileSync(file, '{}');
  const findings = (): ReturnType<typeof checkFiles> =>
    checkFiles(new CommandContext({ set: [`registry.file=${file}`] }, {}).settings, undefined, 0);
  chmodSync(file, 0o600);
  assert.deepEqual(
    findings().map(({ state, found }) => `${state} ${found}`),
    ['ok registry.file: closed to other users'],
  );
  if (process.platform !== 'linux') return;
  chmodSync(directory, 0o755);
  chmodSync(file, 0o666);
  assert.deepEqual(findings(), [
    {
      check: 'secret files',
      state: 'warn',
      found: `registry.file: ${file} can be written by other users (mode 0666)`,
      advice: `chmod go-w ${file}`,
    },
  ]);
});

test('without a setting that names a file, there is no finding', () => {
  assert.deepEqual(checkFiles(new CommandContext({}, {}).settings, undefined, 0), []);
});

test('a limit of the address space is a warning, since it also limits the store', async () => {
  assert.deepEqual(await states('address space', {}), []);
  assert.deepEqual(await states('address space', { addressSpaceMax: 4_000_000_000 }), ['warn']);
});

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import {
  checkFiles,
  checkNode,
  checkOpenFiles,
  checkReceiveBuffers,
} from '../../../../src/cli/doctor/doctor-machine.ts';
import { judgeRegistry } from '../../../../src/cli/doctor/doctor-registry.ts';
import type { AccessKeyId, ApplicationId } from '../../../../src/model/ids.ts';
import type { Credential } from '../../../../src/model/registry.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import type { Settings } from '../../../../src/server/config/settings-schema.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

test('Node 20 and 22 are well, others are said, older ones fail', () => {
  const states = ['20.20.2', '22.0.0', '21.1.0', '24.0.0', '20.11.9', '18.20.0'].map(
    (version) => checkNode(version).state,
  );
  assert.deepEqual(states, ['ok', 'ok', 'warn', 'warn', 'fail', 'fail']);
});

test('too few open files for the sessions that were asked for are a warning, none at all a failure', () => {
  assert.equal(checkOpenFiles(19_000, 20_024).state, 'ok');
  assert.equal(checkOpenFiles(19_000, Infinity).state, 'ok');
  const { state, found, advice } = checkOpenFiles(19_000, 4096);
  assert.equal(state, 'warn');
  assert.match(found, /3072 sleep sessions/);
  assert.match(String(advice), /ulimit -n 20024/);
  assert.equal(checkOpenFiles(19_000, 1024).state, 'fail');
});

test('receive buffers that fill a read of the front end are a warning, where strangers reach it', () => {
  const settings = (api: string): Settings => loadSettings({ env: {}, overrides: [`api.listen=${api}`] });
  const states = (api: string, bytes: number | null): string[] =>
    checkReceiveBuffers(settings(api), bytes).map(({ state }) => state);
  assert.deepEqual(states('0.0.0.0:8080', 6_291_456), ['warn']);
  assert.deepEqual(states('0.0.0.0:8080', 524_288), ['warn']);
  assert.deepEqual(states('0.0.0.0:8080', 393_216), ['ok']);
  assert.deepEqual(states('0.0.0.0:8080', null), []);
  assert.deepEqual(states('127.0.0.1:8080', 6_291_456), []);
});

const nowS = 1_000_000;
const counts = { application: 1, product: 1, credential: 1, device: 1, webhook: 0, bridge: 0 };

function credentialUntil(notAfter: number | null): Credential {
  const appId = 'app' as ApplicationId;
  const accessKeyId = 'AK1' as AccessKeyId;
  return {
    accessKeyId,
    secretKey: 's3cret',
    appId,
    grants: ['*'],
    notBefore: null,
    notAfter,
    revoked: false,
  };
}

function statesOf(found: ReturnType<typeof judgeRegistry>): string[] {
  return found.map(({ check, state }) => `${check} ${state}`);
}

test('an empty registry is a warning: nobody can call', () => {
  const none = { application: 0, product: 0, credential: 0, device: 0, webhook: 0, bridge: 0 };
  assert.deepEqual(statesOf(judgeRegistry(none, null, nowS)), ['registry warn']);
});

test('a registry without a valid credential fails, one that ends within a week is said', () => {
  const week = 7 * 86_400;
  assert.deepEqual(statesOf(judgeRegistry(counts, null, nowS)), ['registry ok', 'credential fail']);
  assert.deepEqual(statesOf(judgeRegistry(counts, credentialUntil(null), nowS)), [
    'registry ok',
    'credential ok',
  ]);
  assert.deepEqual(statesOf(judgeRegistry(counts, credentialUntil(nowS + week), nowS)), [
    'registry ok',
    'credential warn',
  ]);
  assert.deepEqual(statesOf(judgeRegistry({ ...counts, device: 0 }, credentialUntil(null), nowS)), [
    'registry warn',
    'credential ok',
  ]);
});

test('a registry file that others can write is a warning that says what to do', (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'registry.json');
  writeFileSync(file, '{}');
  const findings = (): ReturnType<typeof checkFiles> =>
    checkFiles(new CommandContext({ set: [`registry.file=${file}`] }, {}));
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

test('where no setting names a file there is nothing to find', () => {
  assert.deepEqual(checkFiles(new CommandContext({}, {})), []);
});

test('no finding shows a secret', () => {
  assert.doesNotMatch(JSON.stringify(judgeRegistry(counts, credentialUntil(null), nowS)), /s3cret/);
});

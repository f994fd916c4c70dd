import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  listTokenKeys,
  retireTokenKey,
  rotateTokenKeys,
} from '../../../../src/cli/admin/token-key-actions.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import type {
  TokenKeyListing,
  TokenKeyRotationJson,
} from '../../../../src/gateways/admin/token-key-routes.ts';
import { ServerLock } from '../../../../src/storage/lmdb/server-lock.ts';
import { linesInFile } from '../../../support/audit-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { HeardOutput } from '../../../support/received-output.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

function contextOf(t: Ending) {
  const directory = temporaryDirectory(t);
  const dataDirectory = join(directory, 'data');
  const settings = loadSettings({ file: undefined, env: {}, overrides: [`data.dir=${dataDirectory}`] });
  const path = join(dataDirectory, 'token-keys.json');
  return { clock: new DrivenClock(), dataDirectory, settings, output: new HeardOutput(), path };
}

const made = '2026-11-20T08:30:00Z';
const nowS = Date.parse(made) / 1000;

test('the list of a directory without keys says who makes them, and makes nothing', async (t) => {
  const context = contextOf(t);
  await listTokenKeys(context);
  assert.deepEqual(context.output.json, { keys: [] });
  assert.match(context.output.text, /no token keys yet: the first start/);
  assert.equal(existsSync(context.dataDirectory), false);
});

test('a rotation at rest makes keys that the next server has, and shows no secret', async (t) => {
  const context = contextOf(t);
  await rotateTokenKeys(context);
  const first = context.output.json as TokenKeyRotationJson;
  await rotateTokenKeys(context);
  const second = context.output.json as TokenKeyRotationJson;
  const [newest, former] = second.keys;
  assert.deepEqual(first, { keys: [{ kid: former?.kid, created_at: nowS, signs: true }], dropped: [] });
  assert.deepEqual(second.dropped, []);
  assert.equal(
    context.output.text,
    [
      `KID       MADE                  USE`,
      `${newest?.kid}  ${made}  signs`,
      `${former?.kid}  ${made}  accepted`,
    ].join('\n'),
  );
  const { keys } = JSON.parse(readFileSync(context.path, 'utf8')) as {
    keys: { kid: string; secret: string }[];
  };
  assert.deepEqual(
    keys.map(({ kid }) => kid),
    [newest?.kid, former?.kid],
  );
  for (const { secret } of keys)
    assert.ok(!(JSON.stringify(context.output.json) + context.output.text).includes(secret));
  await rotateTokenKeys(context);
  assert.deepEqual((context.output.json as TokenKeyRotationJson).dropped, [former?.kid]);
  assert.match(context.output.text, new RegExp(`${former?.kid} is dropped: its tokens are refused$`));
  const left = readdirSync(context.dataDirectory).sort();
  assert.deepEqual(left, ['audit.log', 'token-keys.json'], 'the lock is given back');
  const audited = linesInFile(context.dataDirectory);
  assert.deepEqual(
    audited.slice(0, 2).map(({ operator, action, ids, result }) => [operator, action, ids.kid, result]),
    [former, newest].map((key) => ['cli', 'token-key.rotate', key?.kid, 'ok']),
  );
  assert.deepEqual(audited[2]?.ids.dropped, [former?.kid]);
});

test('a key is retired at rest; the last one and an unknown one are refused with what to do', async (t) => {
  const context = contextOf(t);
  await rotateTokenKeys(context);
  await rotateTokenKeys(context);
  const [newest, former] = (context.output.json as TokenKeyListing).keys;
  assert.ok(newest !== undefined && former !== undefined);
  await retireTokenKey(context, former.kid);
  assert.deepEqual(context.output.json, { keys: [newest] });
  assert.match(context.output.text, new RegExp(`^${former.kid} is retired: its tokens are refused\nKID`));
  await assert.rejects(retireTokenKey(context, former.kid), {
    name: 'CommandError',
    message: `no token key "${former.kid}"`,
    advice: /token-key list/,
  });
  await assert.rejects(retireTokenKey(context, newest.kid), { message: /only token key: rotate first/ });
  await listTokenKeys(context);
  assert.deepEqual(context.output.json, { keys: [newest] });
});

test('the file of the settings is the one that is changed', async (t) => {
  const context = contextOf(t);
  const file = join(temporaryDirectory(t), 'shared.json');
  const overrides = [`data.dir=${context.dataDirectory}`, `calls.token_keys_file=${file}`];
  await rotateTokenKeys({ ...context, settings: loadSettings({ file: undefined, env: {}, overrides }) });
  assert.equal(existsSync(file), true);
  assert.equal(existsSync(context.path), false);
});

test('a file that others can read is remarked on', async (t) => {
  const context = contextOf(t);
  await rotateTokenKeys(context);
  chmodSync(context.path, 0o644);
  await listTokenKeys(context);
  assert.deepEqual(context.output.remarks, [`others can read ${context.path}: chmod 600 it, and rotate`]);
});

test('a file that is wrong is said in a sentence, and kept', async (t) => {
  const context = contextOf(t);
  await rotateTokenKeys(context);
  writeFileSync(context.path, '{}');
  for (const act of [listTokenKeys, rotateTokenKeys])
    await assert.rejects(act(context), {
      name: 'StoreOpenError',
      message: /token-keys\.json cannot be used/,
    });
  assert.equal(readFileSync(context.path, 'utf8'), '{}');
});

test('while a server starts, or another command changes the keys, nothing is changed', async (t) => {
  const context = contextOf(t);
  await rotateTokenKeys(context);
  const before = readFileSync(context.path, 'utf8');
  const lock = new ServerLock(context.dataDirectory);
  for (const act of [listTokenKeys, rotateTokenKeys])
    await assert.rejects(act(context), { message: /is starting or stopping/ });
  assert.equal(readFileSync(context.path, 'utf8'), before);
  lock.release();
  await rotateTokenKeys(context);
  assert.notEqual(readFileSync(context.path, 'utf8'), before);
});

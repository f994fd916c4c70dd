import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addTokenKeyCommand } from '../../../../src/cli/admin/token-key-command.ts';
import type { TokenKeyListing, TokenKeyRotationJson } from '../../../../src/gateways/admin/secret-routes.ts';
import { ServerLock } from '../../../../src/storage/lmdb/data-directory.ts';
import { linesInFile } from '../../../support/audit-scene.ts';
import { commandScene } from '../../../support/command-scene.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

function sceneOf(t: Ending, settings: readonly string[] = []) {
  const scene = commandScene(t, addTokenKeyCommand, { set: settings });
  return {
    ...scene,
    list: () => scene.run('token-key', 'list'),
    rotate: () => scene.run('token-key', 'rotate'),
    retire: (kid: string) => scene.run('token-key', 'retire', kid),
    path: join(scene.dataDirectory, 'token-keys.json'),
  };
}

const made = '2026-11-20T08:30:00Z';
const nowS = Date.parse(made) / 1000;

test('the list of a directory without keys says who makes them, and makes nothing', async (t) => {
  const scene = sceneOf(t);
  await scene.list();
  assert.deepEqual(scene.output.json, { keys: [] });
  assert.match(scene.output.text, /no token keys yet: the first start/);
  assert.deepEqual(readdirSync(scene.dataDirectory), []);
});

test('a rotation at rest makes keys that the next server has, and shows no secret', async (t) => {
  const scene = sceneOf(t);
  await scene.rotate();
  const first = scene.output.json as TokenKeyRotationJson;
  await scene.rotate();
  const second = scene.output.json as TokenKeyRotationJson;
  const [newest, former] = second.keys;
  assert.deepEqual(first, { keys: [{ kid: former?.kid, created_at: nowS, signs: true }], dropped: [] });
  assert.deepEqual(second.dropped, []);
  assert.equal(
    scene.output.text,
    [
      `KID       MADE                  USE`,
      `${newest?.kid}  ${made}  signs`,
      `${former?.kid}  ${made}  accepted`,
    ].join('\n'),
  );
  const { keys } = JSON.parse(readFileSync(scene.path, 'utf8')) as {
    keys: { kid: string; secret: string }[];
  };
  assert.deepEqual(
    keys.map(({ kid }) => kid),
    [newest?.kid, former?.kid],
  );
  for (const { secret } of keys)
    assert.ok(!(JSON.stringify(scene.output.json) + scene.output.text).includes(secret));
  await scene.rotate();
  assert.deepEqual((scene.output.json as TokenKeyRotationJson).dropped, [former?.kid]);
  assert.match(scene.output.text, new RegExp(`${former?.kid} is dropped: its tokens are refused$`));
  const left = readdirSync(scene.dataDirectory).sort();
  assert.deepEqual(left, ['audit.log', 'token-keys.json'], 'the lock is given back');
  const audited = linesInFile(scene.dataDirectory);
  assert.deepEqual(
    audited.slice(0, 2).map(({ operator, action, ids, result }) => [operator, action, ids.kid, result]),
    [former, newest].map((key) => ['cli', 'token-key.rotate', key?.kid, 'ok']),
  );
  assert.deepEqual(audited[2]?.ids.dropped, [former?.kid]);
});

test('a key is retired at rest; the last one and an unknown one are refused with what to do', async (t) => {
  const scene = sceneOf(t);
  await scene.rotate();
  await scene.rotate();
  const [newest, former] = (scene.output.json as TokenKeyListing).keys;
  assert.ok(newest !== undefined && former !== undefined);
  await scene.retire(former.kid);
  assert.deepEqual(scene.output.json, { keys: [newest] });
  assert.match(scene.output.text, new RegExp(`^${former.kid} is retired: its tokens are refused\nKID`));
  await assert.rejects(scene.retire(former.kid), {
    name: 'CommandError',
    message: `no token key "${former.kid}"`,
    advice: /token-key list/,
  });
  await assert.rejects(scene.retire(newest.kid), { message: /only token key: rotate first/ });
  await scene.list();
  assert.deepEqual(scene.output.json, { keys: [newest] });
});

test('the file of the settings is the one that is changed', async (t) => {
  const file = join(temporaryDirectory(t), 'shared.json');
  const scene = sceneOf(t, [`calls.token_keys_file=${file}`]);
  await scene.rotate();
  assert.equal(existsSync(file), true);
  assert.equal(existsSync(scene.path), false);
});

test('a file that others can read is remarked on', async (t) => {
  const scene = sceneOf(t);
  await scene.rotate();
  chmodSync(scene.path, 0o644);
  await scene.list();
  assert.deepEqual(scene.output.remarks, [`others can read ${scene.path}: chmod 600 it, and rotate`]);
});

test('a file that is wrong is said in a sentence, and kept', async (t) => {
  const scene = sceneOf(t);
  await scene.rotate();
  writeFileSync(scene.path, '{}');
  const message = /token-keys\.json cannot be used/;
  await assert.rejects(scene.list(), { name: 'StoreOpenError', message });
  await assert.rejects(scene.rotate(), { name: 'CommandError', advice: null, message });
  assert.equal(readFileSync(scene.path, 'utf8'), '{}');
});

test('while a server starts, or another command changes the keys, nothing is changed', async (t) => {
  const scene = sceneOf(t);
  await scene.rotate();
  const before = readFileSync(scene.path, 'utf8');
  const lock = new ServerLock(scene.dataDirectory);
  for (const act of [scene.list, scene.rotate])
    await assert.rejects(act(), { message: /is starting or stopping/ });
  assert.equal(readFileSync(scene.path, 'utf8'), before);
  lock.release();
  await scene.rotate();
  assert.notEqual(readFileSync(scene.path, 'utf8'), before);
});

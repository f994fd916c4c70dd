import assert from 'node:assert/strict';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { checkCallToken, signCallToken } from '../../../../src/protocol/call-token/call-token.ts';
import { LiveTokenKeys, tokenKeyFileOf } from '../../../../src/storage/keys/token-key-file.ts';
import { tokenKeyRoutes, type TokenKeyJson } from '../../../../src/gateways/admin/secret-routes.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';
import { sampleClaims } from '../../../support/call-tokens.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

type KeyFile = ReturnType<typeof tokenKeyFileOf>;

function fileIn(dir: string): KeyFile {
  return tokenKeyFileOf({ calls: { token_keys_file: null }, data: { dir } });
}

class Scene {
  readonly file: KeyFile;
  readonly log: FakeLog;
  readonly live: LiveTokenKeys;

  private constructor(file: KeyFile, log: FakeLog, live: LiveTokenKeys) {
    this.file = file;
    this.log = log;
    this.live = live;
  }

  static async open(t: Ending): Promise<Scene> {
    const file = fileIn(temporaryDirectory(t));
    const log = new FakeLog();
    return new Scene(file, log, await LiveTokenKeys.open({ file, clock: new DrivenClock(), log }));
  }

  get path(): string {
    return this.file.path;
  }

  ask(method: 'GET' | 'POST', path: string, body?: unknown): Promise<RouteReply> {
    return askRoute(tokenKeyRoutes(this.live), method, path, body);
  }

  async list(): Promise<readonly TokenKeyJson[]> {
    const { status, body } = await this.ask('GET', '/v1/token-keys');
    assert.equal(status, 200);
    return (body as { keys: TokenKeyJson[] }).keys;
  }

  sign(): string {
    return signCallToken(this.live.keys, sampleClaims);
  }

  async isGood(token: string): Promise<boolean> {
    return (await checkCallToken(this.live.keys, token)).ok;
  }
}

const nowS = Math.floor(new DrivenClock().wallMs() / 1000);
const rotatePath = '/v1/token-keys/rotate';
const retirePath = '/v1/token-keys/retire';

test('the list has the keys, the signing one first, and no secret', async (t) => {
  const scene = await Scene.open(t);
  const [key] = scene.live.stored;
  assert.deepEqual(await scene.list(), [{ kid: key?.kid, created_at: nowS, signs: true }]);
});

test('after a rotation the new key signs and tokens of both are valid, in the process and in the file', async (t) => {
  const scene = await Scene.open(t);
  const [former] = await scene.list();
  const before = scene.sign();
  const { status, body } = await scene.ask('POST', rotatePath, {});
  const after = scene.sign();
  const keys = await scene.list();
  assert.equal(status, 200);
  assert.deepEqual(body, { keys, dropped: [] });
  assert.deepEqual(keys[1], { ...former, signs: false });
  assert.equal(JSON.parse(Buffer.from(after.split('.')[0] ?? '', 'base64url').toString()).kid, keys[0]?.kid);
  assert.deepEqual([await scene.isGood(before), await scene.isGood(after)], [true, true]);
  assert.deepEqual((await scene.file.find())?.keys, scene.live.stored);
  const text = readFileSync(scene.path, 'utf8');
  for (const { secret } of scene.live.stored) {
    const encoded = Buffer.from(secret).toString('base64url');
    assert.ok(text.includes(encoded));
    assert.ok(!JSON.stringify([body, scene.log.lines]).includes(encoded));
  }
});

test('a second rotation drops the oldest key, and says so', async (t) => {
  const scene = await Scene.open(t);
  const [oldest] = await scene.list();
  const old = scene.sign();
  await scene.ask('POST', rotatePath);
  const { body } = await scene.ask('POST', rotatePath);
  assert.deepEqual((body as { dropped: string[] }).dropped, [oldest?.kid]);
  assert.equal((await scene.list()).length, 2);
  assert.equal(await scene.isGood(old), false);
});

test('concurrent rotations run one after the other', async (t) => {
  const scene = await Scene.open(t);
  await Promise.all([1, 2, 3].map(() => scene.ask('POST', rotatePath)));
  const stored = (await scene.file.find())?.keys;
  assert.deepEqual(scene.live.stored, stored);
  assert.equal(scene.live.keys.first.kid, stored?.[0]?.kid);
});

test('a retired key is removed at once; the last one and an unknown one are refused', async (t) => {
  const scene = await Scene.open(t);
  const [former] = await scene.list();
  const before = scene.sign();
  await scene.ask('POST', rotatePath);
  const retired = await scene.ask('POST', retirePath, { kid: former?.kid });
  assert.deepEqual([retired.status, retired.body], [200, { keys: await scene.list() }]);
  assert.equal(await scene.isGood(before), false);
  assert.equal(await scene.isGood(scene.sign()), true);
  const again = await scene.ask('POST', retirePath, { kid: former?.kid });
  assert.deepEqual([again.status, again.body], [404, { error: `no token key "${former?.kid}"` }]);
  const [last] = await scene.list();
  const refused = await scene.ask('POST', retirePath, { kid: last?.kid });
  assert.deepEqual(
    [refused.status, refused.body],
    [409, { error: `${last?.kid} is the only token key: rotate first` }],
  );
  assert.equal((await scene.list()).length, 1);
});

test('a file that cannot be changed fails the change with its reason, and live keys stay', async (t) => {
  const scene = await Scene.open(t);
  const token = scene.sign();
  writeFileSync(scene.path, '{}');
  const reason = { name: 'StoreOpenError', message: /token-keys\.json cannot be used: keys must be/ };
  await assert.rejects(scene.ask('POST', rotatePath), reason);
  assert.equal(await scene.isGood(token), true);
  await assert.rejects(scene.ask('POST', retirePath, { kid: 'a1' }), reason);
});

test('SIGHUP reads the keys that another node created, and logs one line', async (t) => {
  const scene = await Scene.open(t);
  const former = scene.sign();
  await fileIn(dirname(scene.path)).rotate(nowS);
  await scene.live.reload();
  const kids = (await scene.file.find())?.keys.map(({ kid }) => kid);
  assert.deepEqual(
    scene.live.stored.map(({ kid }) => kid),
    kids,
  );
  assert.equal(scene.live.keys.first.kid, kids?.[0]);
  assert.equal(await scene.isGood(former), true);
  assert.deepEqual(scene.log.lines, [
    { level: 'info', fields: { kids }, message: 'call token keys reloaded' },
  ]);
});

test('SIGHUP with an invalid or missing file is logged and keeps the live keys', async (t) => {
  const scene = await Scene.open(t);
  const token = scene.sign();
  writeFileSync(scene.path, '{"keys":[]}');
  await scene.live.reload();
  rmSync(scene.path);
  await scene.live.reload();
  assert.deepEqual(
    scene.log.lines.map(({ level, message }) => [level, message]),
    [1, 2].map(() => ['error', 'call token keys: reload failed; the live keys stay in use']),
  );
  assert.equal(await scene.isGood(token), true);
});

test('a file that others can read is warned about, at the start and at SIGHUP', async (t) => {
  const scene = await Scene.open(t);
  chmodSync(scene.path, 0o644);
  await scene.live.reload();
  const again = new FakeLog();
  await LiveTokenKeys.open({ file: scene.file, clock: new DrivenClock(), log: again });
  const warning = {
    level: 'warn',
    fields: { file: scene.path, mode: '644' },
    message: 'call token keys: other users can read the file: set its mode to 0600, then rotate the keys',
  };
  assert.deepEqual([scene.log.lines[0], again.lines[0]], [warning, warning]);
});

test('a start with an invalid file is refused with its name', async (t) => {
  const file = fileIn(temporaryDirectory(t));
  writeFileSync(file.path, '[]', { mode: 0o600 });
  const parts = { file, clock: new DrivenClock(), log: new FakeLog() };
  await assert.rejects(LiveTokenKeys.open(parts), {
    name: 'StoreOpenError',
    message: /keys\.json cannot be used/,
  });
});

test('the keys are in the configured file, else in the data directory', () => {
  const data = { dir: '/srv/reveille' };
  const settings = (file: string | null): Parameters<typeof tokenKeyFileOf>[0] => ({
    data,
    calls: { token_keys_file: file },
  });
  assert.equal(tokenKeyFileOf(settings(null)).path, '/srv/reveille/token-keys.json');
  assert.equal(tokenKeyFileOf(settings('/etc/keys.json')).path, '/etc/keys.json');
});

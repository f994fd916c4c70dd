/** Sessions of the console: their start and end, and the proof that a request by cookie needs. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConsoleSessions, cookieName } from '../../../../src/gateways/console/console-sessions.ts';
import type { Operator } from '../../../../src/model/audit.ts';
import { consoleSessionMsMax } from '../../../../src/model/console-limits.ts';
import { hashOpsToken } from '../../../../src/storage/keys/ops-token-file.ts';
import { ConsoleKey, endedSessionsMax } from '../../../../src/storage/keys/console-key-file.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const host = '127.0.0.1:8090';
const alice: Operator = { name: 'alice', role: 'operator' };
const viola: Operator = { name: 'viola', role: 'viewer' };

async function scene(t: Ending) {
  const directory = temporaryDirectory(t);
  const clock = new DrivenClock();
  const tokens = new Map<string, Operator>([
    [hashOpsToken('token-a').toString('hex'), alice],
    [hashOpsToken('token-v').toString('hex'), viola],
  ]);
  const identifyHash = (hash: Buffer): Operator | null => tokens.get(hash.toString('hex')) ?? null;
  const open = async (): Promise<ConsoleSessions> =>
    new ConsoleSessions(clock, { identifyHash }, await ConsoleKey.open(directory));
  return { clock, tokens, directory, open, sessions: await open() };
}

function replaced(parts: readonly string[], at: number, part: string): string {
  return parts.map((each, place) => (place === at ? part : each)).join('.');
}

function asking(secret: string | null, at = host): { host: string; cookies: Record<string, string> } {
  return { host: at, cookies: { theme: 'dark', [cookieName(at)]: secret ?? '' } };
}

test("a token begins a session, whose cookie with the page's CSRF proof stands for its operator", async (t) => {
  const { sessions } = await scene(t);
  const secret = sessions.begin('token-a');
  const session = sessions.find(asking(secret));
  assert.deepEqual(session?.operator, alice);
  assert.match(session?.csrf ?? '', /^[\w-]{43}$/);
  assert.notEqual(secret, session?.csrf);
  assert.deepEqual(sessions.admit({ ...asking(secret), csrf: session?.csrf ?? '' }), alice);
});

test('an invalid token begins no session, and an unknown cookie finds none', async (t) => {
  const { sessions } = await scene(t);
  assert.equal(sessions.begin('token-x'), null);
  const secret = sessions.begin('token-a');
  for (const other of ['', 'x', `${secret}x`, secret?.slice(1) ?? ''])
    assert.equal(sessions.find(asking(other)), null, other);
  assert.equal(sessions.find({ host, cookies: {} }), null);
});

test("the cookie alone is not enough: without the proof, or with another session's, a request is refused", async (t) => {
  const { sessions } = await scene(t);
  const secret = sessions.begin('token-a');
  const other = sessions.find(asking(sessions.begin('token-v')));
  for (const csrf of ['', 'x', other?.csrf ?? ''])
    assert.equal(sessions.admit({ ...asking(secret), csrf }), null);
});

test('a cookie belongs to the port that set it: consoles behind several ports of one host do not share it', async (t) => {
  const { sessions } = await scene(t);
  const secret = sessions.begin('token-a');
  const { cookies } = asking(secret);
  assert.equal(sessions.find({ host: '127.0.0.1:8091', cookies }), null);
  assert.equal(cookieName('ops.example'), 'reveille_console');
  assert.equal(cookieName('[::1]:8090'), 'reveille_console_8090');
});

test('a logout ends its session and no other', async (t) => {
  const { sessions } = await scene(t);
  const secret = sessions.begin('token-a');
  const kept = sessions.begin('token-a');
  await sessions.end(asking(secret));
  assert.equal(sessions.find(asking(secret)), null);
  assert.notEqual(sessions.find(asking(kept)), null);
});

test('a session ends half a day after its login, even if it is in use', async (t) => {
  const { clock, sessions } = await scene(t);
  const secret = sessions.begin('token-a');
  clock.advance(consoleSessionMsMax - 1);
  assert.notEqual(sessions.find(asking(secret)), null);
  clock.advance(1);
  assert.equal(sessions.find(asking(secret)), null);
});

test('a session ends with its token, and does not return with a token of the same name', async (t) => {
  const { sessions, tokens } = await scene(t);
  const secret = sessions.begin('token-a');
  const hash = hashOpsToken('token-a').toString('hex');
  tokens.delete(hash);
  tokens.set(hashOpsToken('token-new').toString('hex'), alice);
  assert.equal(sessions.find(asking(secret)), null);
});

test('a session survives a restart, and a logout does', async (t) => {
  const { sessions, open } = await scene(t);
  const kept = sessions.begin('token-a');
  const ended = sessions.begin('token-a');
  const csrf = sessions.find(asking(kept))?.csrf ?? '';
  await sessions.end(asking(ended));
  const later = await open();
  assert.deepEqual(later.admit({ ...asking(kept), csrf }), alice);
  assert.equal(later.find(asking(ended)), null);
});

test('without the file of its key every session has ended, and the file is readable by its owner only', async (t) => {
  const { sessions, open, directory } = await scene(t);
  const secret = sessions.begin('token-a');
  const path = join(directory, 'console-key.json');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  rmSync(path);
  assert.equal((await open()).find(asking(secret)), null);
});

test('a cookie that was changed in any part belongs to no session', async (t) => {
  const { sessions } = await scene(t);
  const parts = (sessions.begin('token-v') ?? '').split('.');
  const others = (sessions.begin('token-a') ?? '').split('.');
  for (const [at, other] of others.entries())
    if (other !== parts[at])
      assert.equal(sessions.find(asking(replaced(parts, at, other))), null, `part ${at}`);
  assert.equal(sessions.find(asking(replaced(parts, 1, `${Number(parts[1]) + 1000}`))), null);
});

test('two concurrent logouts both survive a restart', async (t) => {
  const { sessions, open } = await scene(t);
  const secrets = [sessions.begin('token-a'), sessions.begin('token-a')];
  await Promise.all(secrets.map((secret) => sessions.end(asking(secret))));
  const later = await open();
  for (const secret of secrets) assert.equal(later.find(asking(secret)), null);
});

test('a logout that cannot be written is refused with a sentence, and its session stays valid', async (t) => {
  const { sessions, directory } = await scene(t);
  const secret = sessions.begin('token-a');
  rmSync(directory, { recursive: true });
  await assert.rejects(
    sessions.end(asking(secret)),
    /^StoreOpenError: the console's key in .*console-key\.json cannot be written: ENOENT/,
  );
  assert.notEqual(sessions.find(asking(secret)), null);
});

test('more logouts than the file can hold end every session', async (t) => {
  const { clock, sessions, open, directory } = await scene(t);
  const secret = sessions.begin('token-a');
  const path = join(directory, 'console-key.json');
  const { key } = JSON.parse(readFileSync(path, 'utf8')) as { key: string };
  const expiresAtMs = clock.wallMs() + consoleSessionMsMax;
  const earlier = Array.from(
    { length: endedSessionsMax - 1 },
    (_, n) => [`session-${n}`, expiresAtMs] as const,
  );
  writeFileSync(path, JSON.stringify({ key, ended: Object.fromEntries(earlier) }));
  const later = await open();
  await later.end(asking(later.begin('token-v')));
  assert.notEqual(later.find(asking(secret)), null);
  await later.end(asking(later.begin('token-v')));
  assert.equal(later.find(asking(secret)), null);
});

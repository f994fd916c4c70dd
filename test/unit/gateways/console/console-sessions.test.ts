/** Sessions of the console: what begins and ends one, and what a request by its cookie has to bear. */
import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
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

function scene(t: Ending) {
  const directory = temporaryDirectory(t);
  const clock = new DrivenClock();
  const tokens = new Map<string, Operator>([
    [hashOpsToken('token-a').toString('hex'), alice],
    [hashOpsToken('token-v').toString('hex'), viola],
  ]);
  const identifyHash = (hash: Buffer): Operator | null => tokens.get(hash.toString('hex')) ?? null;
  const open = (): ConsoleSessions => new ConsoleSessions(clock, { identifyHash }, new ConsoleKey(directory));
  return { clock, tokens, directory, open, sessions: open() };
}

function replaced(parts: readonly string[], at: number, part: string): string {
  return parts.map((each, place) => (place === at ? part : each)).join('.');
}

function asking(secret: string | null, at = host): { host: string; cookies: Record<string, string> } {
  return { host: at, cookies: { theme: 'dark', [cookieName(at)]: secret ?? '' } };
}

test('a token begins a session, whose cookie stands for its operator with the proof that the page has read', (t) => {
  const { sessions } = scene(t);
  const secret = sessions.begin('token-a');
  const session = sessions.find(asking(secret));
  assert.deepEqual(session?.operator, alice);
  assert.match(session?.csrf ?? '', /^[\w-]{43}$/);
  assert.notEqual(secret, session?.csrf);
  assert.deepEqual(sessions.admit({ ...asking(secret), csrf: session?.csrf ?? '' }), alice);
});

test('a token that is not valid begins none, and another cookie finds none', (t) => {
  const { sessions } = scene(t);
  assert.equal(sessions.begin('token-x'), null);
  const secret = sessions.begin('token-a');
  for (const other of ['', 'x', `${secret}x`, secret?.slice(1) ?? ''])
    assert.equal(sessions.find(asking(other)), null, other);
  assert.equal(sessions.find({ host, cookies: {} }), null);
});

test('the cookie alone is not enough: without the proof, or with that of another session, a request is refused', (t) => {
  const { sessions } = scene(t);
  const secret = sessions.begin('token-a');
  const other = sessions.find(asking(sessions.begin('token-v')));
  for (const csrf of ['', 'x', other?.csrf ?? ''])
    assert.equal(sessions.admit({ ...asking(secret), csrf }), null);
});

test('a cookie is of the port it was given at: consoles behind several ports of one host do not share it', (t) => {
  const { sessions } = scene(t);
  const secret = sessions.begin('token-a');
  const { cookies } = asking(secret);
  assert.equal(sessions.find({ host: '127.0.0.1:8091', cookies }), null);
  assert.equal(cookieName('ops.example'), 'reveille_console');
  assert.equal(cookieName('[::1]:8090'), 'reveille_console_8090');
});

test('a session ends with a logout, and no other with it', (t) => {
  const { sessions } = scene(t);
  const secret = sessions.begin('token-a');
  const kept = sessions.begin('token-a');
  sessions.end(asking(secret));
  assert.equal(sessions.find(asking(secret)), null);
  assert.notEqual(sessions.find(asking(kept)), null);
});

test('a session ends half a day after its login, whatever is done with it', (t) => {
  const { clock, sessions } = scene(t);
  const secret = sessions.begin('token-a');
  clock.advance(consoleSessionMsMax - 1);
  assert.notEqual(sessions.find(asking(secret)), null);
  clock.advance(1);
  assert.equal(sessions.find(asking(secret)), null);
});

test('a session ends with its token, and does not come back with a token of the same name', (t) => {
  const { sessions, tokens } = scene(t);
  const secret = sessions.begin('token-a');
  const hash = hashOpsToken('token-a').toString('hex');
  tokens.delete(hash);
  tokens.set(hashOpsToken('token-new').toString('hex'), alice);
  assert.equal(sessions.find(asking(secret)), null);
});

test('a session survives a restart, and a logout does', (t) => {
  const { sessions, open } = scene(t);
  const kept = sessions.begin('token-a');
  const ended = sessions.begin('token-a');
  const csrf = sessions.find(asking(kept))?.csrf ?? '';
  sessions.end(asking(ended));
  const later = open();
  assert.deepEqual(later.admit({ ...asking(kept), csrf }), alice);
  assert.equal(later.find(asking(ended)), null);
});

test('without the file of its key every session has ended, and the file is for its owner alone', (t) => {
  const { sessions, open, directory } = scene(t);
  const secret = sessions.begin('token-a');
  const path = join(directory, 'console-key.json');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  rmSync(path);
  assert.equal(open().find(asking(secret)), null);
});

test('a cookie that was changed in any part is of no session', (t) => {
  const { sessions } = scene(t);
  const parts = (sessions.begin('token-v') ?? '').split('.');
  const others = (sessions.begin('token-a') ?? '').split('.');
  for (const [at, other] of others.entries())
    if (other !== parts[at])
      assert.equal(sessions.find(asking(replaced(parts, at, other))), null, `part ${at}`);
  assert.equal(sessions.find(asking(replaced(parts, 1, `${Number(parts[1]) + 1000}`))), null);
});

test('with more logouts than are kept every session ends', (t) => {
  const { sessions } = scene(t);
  const secret = sessions.begin('token-a');
  for (let n = 0; n < endedSessionsMax; n += 1) sessions.end(asking(sessions.begin('token-v')));
  assert.notEqual(sessions.find(asking(secret)), null);
  sessions.end(asking(sessions.begin('token-v')));
  assert.equal(sessions.find(asking(secret)), null);
});

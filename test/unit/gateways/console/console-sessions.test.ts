/** Sessions of the console: what begins and ends one, and what a request by its cookie has to bear. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConsoleSessions, cookieName } from '../../../../src/gateways/console/console-sessions.ts';
import type { Operator } from '../../../../src/model/audit.ts';
import { consoleSessionMsMax, consoleSessionsPerTokenMax } from '../../../../src/model/console-limits.ts';
import { hashOpsToken } from '../../../../src/storage/keys/ops-token-file.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const host = '127.0.0.1:8090';
const alice: Operator = { name: 'alice', role: 'operator' };
const viola: Operator = { name: 'viola', role: 'viewer' };

function scene() {
  const clock = new DrivenClock();
  const tokens = new Map<string, Operator>([
    [hashOpsToken('token-a').toString('hex'), alice],
    [hashOpsToken('token-v').toString('hex'), viola],
  ]);
  const identifyHash = (hash: Buffer): Operator | null => tokens.get(hash.toString('hex')) ?? null;
  return { clock, tokens, sessions: new ConsoleSessions(clock, { identifyHash }) };
}

function asking(secret: string | null, at = host): { host: string; cookies: Record<string, string> } {
  return { host: at, cookies: { theme: 'dark', [cookieName(at)]: secret ?? '' } };
}

test('a token begins a session, whose cookie stands for its operator with the proof that the page has read', () => {
  const { sessions } = scene();
  const secret = sessions.begin('token-a');
  const session = sessions.find(asking(secret));
  assert.deepEqual(session?.operator, alice);
  assert.match(secret ?? '', /^[\w-]{43}$/);
  assert.match(session?.csrf ?? '', /^[\w-]{43}$/);
  assert.notEqual(secret, session?.csrf);
  assert.deepEqual(sessions.admit({ ...asking(secret), csrf: session?.csrf ?? '' }), alice);
});

test('a token that is not valid begins none, and another cookie finds none', () => {
  const { sessions } = scene();
  assert.equal(sessions.begin('token-x'), null);
  const secret = sessions.begin('token-a');
  for (const other of ['', 'x', `${secret}x`, secret?.slice(1) ?? ''])
    assert.equal(sessions.find(asking(other)), null, other);
  assert.equal(sessions.find({ host, cookies: {} }), null);
});

test('the cookie alone is not enough: without the proof, or with that of another session, a request is refused', () => {
  const { sessions } = scene();
  const secret = sessions.begin('token-a');
  const other = sessions.find(asking(sessions.begin('token-v')));
  for (const csrf of ['', 'x', other?.csrf ?? ''])
    assert.equal(sessions.admit({ ...asking(secret), csrf }), null);
});

test('a cookie is of the port it was given at: consoles behind several ports of one host do not share it', () => {
  const { sessions } = scene();
  const secret = sessions.begin('token-a');
  const { cookies } = asking(secret);
  assert.equal(sessions.find({ host: '127.0.0.1:8091', cookies }), null);
  assert.equal(cookieName('ops.example'), 'reveille_console');
  assert.equal(cookieName('[::1]:8090'), 'reveille_console_8090');
});

test('a session ends with a logout, and no other with it', () => {
  const { sessions } = scene();
  const secret = sessions.begin('token-a');
  const kept = sessions.begin('token-a');
  sessions.end(asking(secret));
  assert.equal(sessions.find(asking(secret)), null);
  assert.notEqual(sessions.find(asking(kept)), null);
});

test('a session ends half a day after its login, whatever is done with it', () => {
  const { clock, sessions } = scene();
  const secret = sessions.begin('token-a');
  clock.advance(consoleSessionMsMax - 1);
  assert.notEqual(sessions.find(asking(secret)), null);
  clock.advance(1);
  assert.equal(sessions.find(asking(secret)), null);
});

test('a session ends with its token, and does not come back with a token of the same name', () => {
  const { sessions, tokens } = scene();
  const secret = sessions.begin('token-a');
  const hash = hashOpsToken('token-a').toString('hex');
  tokens.delete(hash);
  tokens.set(hashOpsToken('token-new').toString('hex'), alice);
  assert.equal(sessions.find(asking(secret)), null);
  tokens.set(hash, alice);
  assert.equal(sessions.find(asking(secret)), null);
});

test('a token has so many sessions at most: with another one its oldest ends, and none of another token', () => {
  const { sessions } = scene();
  const viewer = sessions.begin('token-v');
  const begun = Array.from({ length: consoleSessionsPerTokenMax + 1 }, () => sessions.begin('token-a'));
  const living = begun.filter((secret) => sessions.find(asking(secret)) !== null);
  assert.deepEqual(living, begun.slice(1));
  assert.deepEqual(sessions.find(asking(viewer))?.operator, viola);
});

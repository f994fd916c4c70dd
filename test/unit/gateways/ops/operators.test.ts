import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Operators, CallerCheck, type Caller } from '../../../../src/gateways/ops/operators.ts';
import { OpsTokenFile } from '../../../../src/storage/keys/ops-token-file.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';
import { localOperator } from '../../../../src/model/audit.ts';

async function scene(t: Ending) {
  const directory = temporaryDirectory(t);
  const file = new OpsTokenFile(directory);
  const clock = new DrivenClock();
  const log = new FakeLog();
  const operators = new Operators({ file, localToken: 'the-local-token', clock, log });
  await operators.open();
  return { directory, file, clock, log, operators };
}

const alice = { name: 'alice', role: 'viewer' } as const;

async function made({ operators }: { readonly operators: Operators }): Promise<string> {
  const created = await operators.create(alice);
  assert.ok(created.ok);
  return created.value.token;
}

test('the token of ops.token is local, an operator; a named one belongs to its name until it is revoked', async (t) => {
  const { operators } = await scene(t);
  assert.deepEqual(operators.identify('the-local-token'), { name: 'local', role: 'operator' });
  const token = await made({ operators });
  assert.deepEqual(operators.identify(token), alice);
  for (const other of ['', token.slice(1), `${token}x`, 'the-local-toke'])
    assert.equal(operators.identify(other), null);
  assert.equal(await operators.revoke('alice'), true);
  assert.equal(await operators.revoke('alice'), false);
  assert.equal(operators.identify(token), null);
});

test('another server on the same file accepts the same tokens, and SIGHUP reads it again', async (t) => {
  const { file, clock, log, operators } = await scene(t);
  const token = await made({ operators });
  const other = new Operators({ file, localToken: 'x', clock, log });
  await other.open();
  assert.deepEqual(other.identify(token), alice);
  await operators.revoke('alice');
  assert.deepEqual(other.identify(token), alice);
  await other.reload();
  assert.equal(other.identify(token), null);
});

test('an invalid file keeps the valid tokens, and is logged', async (t) => {
  const { directory, log, operators } = await scene(t);
  const token = await made({ operators });
  writeFileSync(join(directory, 'ops-tokens.json'), '{');
  await operators.reload();
  assert.deepEqual(operators.identify(token), alice);
  assert.deepEqual(
    log.lines.map(({ message }) => message),
    ["operators' tokens: not reloaded; the current ones stay valid"],
  );
  await assert.rejects(operators.create({ ...alice, name: 'bob' }), /cannot be used/);
  rmSync(join(directory, 'ops-tokens.json'));
});

test('the last use is known at once, and written at most once a minute', async (t) => {
  const { file, clock, operators } = await scene(t);
  const token = await made({ operators });
  const lastUsed = async (): Promise<unknown> => (await file.read())[0]?.lastUsedAtS;
  const startS = clock.wallMs() / 1000;
  operators.identify(token);
  assert.equal(operators.stored[0]?.lastUsedAtS, startS);
  clock.advance(0);
  await operators.reload();
  assert.equal(await lastUsed(), startS);
  for (let s = 0; s < 59; s++) {
    clock.advance(1000);
    operators.identify(token);
  }
  await operators.reload();
  assert.equal(await lastUsed(), startS);
  assert.equal(operators.stored[0]?.lastUsedAtS, startS + 59);
  clock.advance(1000);
  await operators.reload();
  assert.equal(await lastUsed(), startS + 59);
  operators.identify(token);
  await operators.close();
  assert.equal(await lastUsed(), startS + 60);
});

const operators = { identify: (token: string) => (token === 'the-token' ? localOperator : null) };
const check = new CallerCheck(operators, ['10.0.0.7', 'Ops.Example', '2001:db8::7']);

/** The status of the refusal; null: admitted. */
function refusedAs(change: Partial<Caller>): number | null {
  const own = {
    host: 'localhost:8090',
    origin: '',
    authorization: 'Bearer the-token',
    cookies: {},
    csrf: '',
  };
  const caller = { ...own, ...change };
  const admitted = check.admit(caller);
  return admitted.ok ? null : admitted.error.status;
}

test('loopback names, the host listened on and the configured names are known, in any case, with and without a port', () => {
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1:8090', '[::1]:8090', '[::1]', '10.0.0.7:8090'])
    assert.equal(refusedAs({ host }), null, host);
  for (const host of ['ops.example', 'OPS.example:443', '[2001:db8::7]:8090'])
    assert.equal(refusedAs({ host }), null, host);
});

test('another name for this address is refused, whatever the token', () => {
  for (const host of [
    '',
    'evil.example',
    'localhost.evil.example',
    'localhost:x',
    '127.0.0.1.evil',
    '::1',
    '127.0.0.2',
  ])
    assert.equal(refusedAs({ host }), 403, host);
});

test('a page of the same host and port is admitted, every other is refused', () => {
  assert.equal(refusedAs({ origin: 'http://localhost:8090' }), null);
  assert.equal(refusedAs({ origin: 'https://LOCALHOST:8090' }), null);
  for (const origin of [
    'null',
    'http://localhost:3000',
    'http://localhost',
    'http://evil.example',
    'localhost:8090',
  ])
    assert.equal(refusedAs({ origin }), 403, origin);
});

test('the scheme is accepted in any case, with spaces after it', () => {
  for (const scheme of ['bearer', 'BEARER', 'bEaReR', 'Bearer  '])
    assert.equal(refusedAs({ authorization: `${scheme} the-token` }), null, scheme);
});

test('only the whole token is accepted', () => {
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    'Bearer the-toke',
    'Bearer the-token2',
    'Bearerthe-token',
    'Basic the-token',
    'the-token',
  ])
    assert.equal(refusedAs({ authorization }), 401, authorization);
});
